import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { convertV4MiniflareOptions, Miniflare, Response } from "miniflare"
import { build, type Rollup } from "vite"

/** The Worker in this file of the folder, as one module. */
export async function bundledWorker(file = "worker.ts"): Promise<string> {
  const result = (await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      minify: false,
      target: "es2022",
      lib: { entry: fileURLToPath(new URL(file, import.meta.url)), formats: ["es"], fileName: "worker" },
      rollupOptions: { external: [/^cloudflare:/, /^node:/], output: { codeSplitting: false } },
    },
  })) as Rollup.RollupOutput[]
  const [chunk] = result[0]!.output
  return chunk.code
}

/** `isDead`: whoever told it is dead by now. */
type OnTold = (instance: string, step: string, isDead: boolean) => void

/** One workerd at a time, on one folder. */
export class WorkerdProcess {
  readonly #options: { readonly script: string; readonly folder: string; readonly onTold: OnTold }
  #miniflare: Miniflare | undefined
  #pid = 0
  #url = ""
  #life = 0

  constructor(options: { readonly script: string; readonly folder: string; readonly onTold: OnTold }) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { script, folder, onTold } = this.#options
    const before = childrenNamed("workerd")
    const life = this.#life
    const miniflare = new Miniflare(
      convertV4MiniflareOptions({
        host: "127.0.0.1",
        modules: [{ type: "ESModule", path: "worker.js", contents: script }],
        compatibilityDate: "2026-09-01",
        compatibilityFlags: ["nodejs_compat"],
        durableObjects: { WORKFLOW_RUNNER: { className: "WorkflowRunner", useSQLite: true } },
        resourcePersistencePath: folder,
        outboundService: (request: { readonly url: string }) => {
          const [, instance = "", step = ""] = new URL(request.url).pathname.split("/")
          onTold(decodeURIComponent(instance), step, life !== this.#life)
          return new Response("noted")
        },
      }),
    )
    this.#url = (await miniflare.ready).origin
    this.#miniflare = miniflare
    this.#pid = childrenNamed("workerd").find((pid) => !before.includes(pid)) ?? 0
    if (this.#pid === 0) throw new Error("workerd was started, but no process of ours is new")
  }

  /** Where other processes reach the Worker. It is another address after each start. */
  get url(): string {
    return this.#url
  }

  /** Undefined: it did not answer, as it is dead or dying. */
  async get(path: string): Promise<unknown> {
    try {
      const response = await this.#miniflare!.dispatchFetch(`http://worker${path}`)
      return response.ok ? await response.json() : undefined
    } catch {
      return undefined
    }
  }

  /** At once, whatever it is doing. */
  async kill(): Promise<void> {
    this.#life++
    process.kill(this.#pid, "SIGKILL")
    await this.#miniflare?.dispose().catch(() => undefined)
    this.#miniflare = undefined
  }

  async stop(): Promise<void> {
    await this.#miniflare?.dispose().catch(() => undefined)
    this.#miniflare = undefined
  }
}

/** Our own processes only. */
function childrenNamed(name: string): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8").trim()
        const [, comm = "", rest = ""] = /^\d+ \((.*)\) (.*)$/.exec(stat) ?? []
        return comm.startsWith(name) && Number(rest.split(" ")[1]) === process.pid
      } catch {
        return false
      }
    })
}
