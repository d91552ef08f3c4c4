import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { convertV4MiniflareOptions, Miniflare } from "miniflare"
import { bundleWorker } from "./bundle-worker.ts"
import { crowdLeavesMs } from "./crowd-leaves.ts"

export interface BenchOptions {
  /** The folder of the storage. If the user chose none, memory is better than a disk, which adds noise. */
  readonly folder: string
  /** Includes @durable-effect/workflow, which is installed with the other peers. */
  readonly withEffect?: boolean
}

/** The Worker that is measured, in a workerd of its own. */
export class ObjectBench {
  readonly #miniflare: Miniflare
  readonly #folder: string
  #last: "crowd" | "few" | undefined

  private constructor(miniflare: Miniflare, folder: string) {
    this.#miniflare = miniflare
    this.#folder = folder
  }

  static async start({ folder: wanted, withEffect = false }: BenchOptions): Promise<ObjectBench> {
    const inMemory = wanted.startsWith(tmpdir()) && existsSync("/dev/shm")
    const folder = mkdtempSync(join(inMemory ? "/dev/shm" : wanted, "perdure-objects-"))
    const miniflare = new Miniflare(
      convertV4MiniflareOptions({
        host: "127.0.0.1",
        modules: [
          { type: "ESModule", path: "worker.js", contents: await bundleWorker(withEffect ? "../peers/adapters/durable-effect-worker.ts" : "worker.ts") },
        ],
        compatibilityDate: "2026-09-01",
        compatibilityFlags: ["nodejs_compat"],
        durableObjects: {
          WORKFLOW_RUNNER: { className: "WorkflowRunner", useSQLite: true },
          BARE: { className: "BareObject", useSQLite: true },
          ...(withEffect ? { EFFECT: { className: "EffectWorkflows", useSQLite: true } } : {}),
        },
        workflows: { NATIVE: { name: "native", className: "Native" } },
        resourcePersistencePath: folder,
      }),
    )
    await miniflare.ready
    return new ObjectBench(miniflare, folder)
  }

  /** Measures a workload. Before and after a crowd, the objects of the measurement before have to leave memory first. */
  async measure(engine: string, workload: string, isCrowd = false): Promise<Readonly<Record<string, number>>> {
    const last = this.#last
    this.#last = isCrowd ? "crowd" : "few"
    if (last === "crowd" || (last === "few" && isCrowd)) await delay(crowdLeavesMs)
    const response = await this.#miniflare.dispatchFetch(`http://bench/${engine}/${workload}`)
    const text = await response.text()
    if (!response.ok) throw new Error(`${engine} ${workload}: ${text}`)
    return JSON.parse(text) as Readonly<Record<string, number>>
  }

  async close(): Promise<void> {
    await this.#miniflare.dispose()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
