import { mkdtempSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Miniflare } from "miniflare"
import { bundleWorker } from "../objects/bundle-worker.ts"

/** The tests beside Cloudflare's engine have the newest one. */
const newest = createRequire(new URL(import.meta.url.includes("/.build/") ? "../../../test/side-by-side/" : "../../test/side-by-side/", import.meta.url))

/** Cloudflare's local engine for Workflows, in a workerd of its own. Its files are on the same disk as those of SQLite. */
export class CloudflareBench {
  readonly #miniflare: Miniflare
  readonly #folder: string

  private constructor(miniflare: Miniflare, folder: string) {
    this.#miniflare = miniflare
    this.#folder = folder
  }

  static async start(parent: string): Promise<CloudflareBench> {
    const folder = mkdtempSync(join(parent, "cloudflare-"))
    const { convertV4MiniflareOptions, Miniflare } = (await import(pathToFileURL(newest.resolve("miniflare")).href)) as typeof import("miniflare")
    const miniflare = new Miniflare(
      convertV4MiniflareOptions({
        host: "127.0.0.1",
        modules: [{ type: "ESModule", path: "worker.js", contents: await bundleWorker("../dialect/worker.ts") }],
        compatibilityDate: "2026-09-01",
        compatibilityFlags: ["nodejs_compat"],
        workflows: { NATIVE: { name: "sequence", className: "Sequence" } },
        resourcePersistencePath: folder,
      }),
    )
    await miniflare.ready
    return new CloudflareBench(miniflare, folder)
  }

  /** Milliseconds from the first start to the last result of instances that are started at once. */
  async time(instances: number, steps: number): Promise<number> {
    const startedAt = performance.now()
    const response = await this.#miniflare.dispatchFetch(`http://bench/${instances}/${steps}`)
    const text = await response.text()
    if (!response.ok) throw new Error(`Cloudflare's local engine: ${text}`)
    return performance.now() - startedAt
  }

  async close(): Promise<void> {
    await this.#miniflare.dispose()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
