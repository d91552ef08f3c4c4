import { fileURLToPath } from "node:url"
import { convertV4MiniflareOptions, Miniflare } from "miniflare"
import { build, type Rollup } from "vite"

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The Worker that is measured, in a workerd of its own. */
export class ObjectBench {
  readonly #miniflare: Miniflare

  private constructor(miniflare: Miniflare) {
    this.#miniflare = miniflare
  }

  static async start(folder: string): Promise<ObjectBench> {
    const miniflare = new Miniflare(
      convertV4MiniflareOptions({
        host: "127.0.0.1",
        modules: [{ type: "ESModule", path: "worker.js", contents: await bundle() }],
        compatibilityDate: "2026-09-01",
        compatibilityFlags: ["nodejs_compat"],
        durableObjects: {
          WORKFLOW_RUNNER: { className: "WorkflowRunner", useSQLite: true },
          BARE: { className: "BareObject", useSQLite: true },
        },
        workflows: { NATIVE: { name: "native", className: "Native" } },
        resourcePersistencePath: folder,
      }),
    )
    await miniflare.ready
    return new ObjectBench(miniflare)
  }

  async measure(engine: string, workload: string): Promise<Readonly<Record<string, number>>> {
    const response = await this.#miniflare.dispatchFetch(`http://bench/${engine}/${workload}`)
    const text = await response.text()
    if (!response.ok) throw new Error(`${engine} ${workload}: ${text}`)
    return JSON.parse(text) as Readonly<Record<string, number>>
  }

  async close(): Promise<void> {
    await this.#miniflare.dispose()
  }
}

async function bundle(): Promise<string> {
  const result = (await build({
    configFile: false,
    logLevel: "silent",
    resolve: {
      alias: [
        { find: /^perdure$/, replacement: source("../../src/index.ts") },
        { find: /^perdure\/cloudflare$/, replacement: source("../../src/cloudflare.ts") },
      ],
    },
    build: {
      write: false,
      target: "es2022",
      lib: { entry: source("worker.ts"), formats: ["es"], fileName: "worker" },
      rollupOptions: { external: [/^cloudflare:/, /^node:/], output: { codeSplitting: false } },
    },
  })) as Rollup.RollupOutput[]
  const [chunk] = result[0]!.output
  return chunk.code
}
