import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import { isTypeScript, typeScriptFlags } from "../user-code/workflow-entry.ts"
import type { DevReport, DevSettings } from "./dev-message.ts"

/** After this time the executing process is killed. The next process repeats its unfinished steps. */
const stopMs = 8_000
/** A process that dies sooner would die again, and is not started again before a change. */
const stableAfterMs = 1_000

export interface SupervisorListener {
  onReady(report: DevReport & { readonly type: "ready" }, isReload: boolean): void
  onFailed(failure: DevReport & { readonly type: "failed" }): void
  /** The database is gone, and the process is not started again. */
  onGone(message: string): void
  /** The process ended by itself. With `restarts` it is started again at once, otherwise after the next change. */
  onExited(how: string, restarts: boolean): void
}

/**
 * Keeps one executing process, and replaces it on request. There are never two processes: the old process ends before the next one begins, and the next
 * process continues the instances.
 */
export class Supervisor {
  readonly #settings: DevSettings
  readonly #listener: SupervisorListener
  #child: ChildProcess | undefined
  #isStopped = false
  #isReload = false
  /** The replacement under way. Several requests meanwhile cause one further replacement. */
  #replacing: Promise<void> | undefined
  #replaceRequested = false

  constructor(settings: DevSettings, listener: SupervisorListener) {
    this.#settings = settings
    this.#listener = listener
  }

  start(): void {
    const extension = extname(fileURLToPath(import.meta.url))
    const script = fileURLToPath(new URL(`./dev-child${extension}`, import.meta.url))
    // The wrangler.jsonc may name another module after each change.
    const flags = this.#settings.worker !== undefined || isTypeScript(this.#settings.entry) || isTypeScript(script) ? typeScriptFlags() : []
    const child = fork(script, [JSON.stringify(this.#settings)], {
      execArgv: [...flags],
      cwd: this.#settings.cwd,
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      detached: this.#ownsGroup,
    })
    this.#child = child
    let isReady = false
    let hasFailed = false
    const startedAt = performance.now()
    child.on("message", (report: DevReport) => {
      if (report.type === "ready") {
        isReady = true
        this.#listener.onReady(report, this.#isReload)
      } else {
        hasFailed = true
        if (report.type === "gone") this.#listener.onGone(report.message)
        else this.#listener.onFailed(report)
      }
      this.#isReload = true
    })
    child.on("exit", (code, signal) => {
      this.#killGroup(child)
      if (this.#child !== child) return
      this.#child = undefined
      if (this.#isStopped || hasFailed || this.#replacing) return
      const restarts = isReady && performance.now() - startedAt > stableAfterMs
      this.#listener.onExited(signal === null ? `exit code ${code}` : signal, restarts)
      if (restarts) this.start()
    })
  }

  /** Miniflare starts a process of its own, which outlives an executing process that is killed. On Windows, a group would open a window. */
  get #ownsGroup(): boolean {
    return this.#settings.worker !== undefined && process.platform !== "win32"
  }

  #killGroup({ pid }: ChildProcess): void {
    if (!this.#ownsGroup || pid === undefined) return
    try {
      process.kill(-pid, "SIGKILL")
    } catch {
      // No process of the group is left, as usual.
    }
  }

  /** Lets the process end in good order, and starts a new one. */
  replace(): void {
    if (this.#isStopped) return
    this.#replaceRequested = true
    this.#replacing ??= this.#replaceWhileRequested().finally(() => (this.#replacing = undefined))
  }

  async #replaceWhileRequested(): Promise<void> {
    while (this.#replaceRequested && !this.#isStopped) {
      this.#replaceRequested = false
      await this.#end()
      if (!this.#isStopped) this.start()
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#replacing
    await this.#end()
  }

  async #end(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    if (child.connected) child.send("stop", () => undefined)
    else child.kill("SIGTERM")
    const timer = setTimeout(() => child.kill("SIGKILL"), stopMs)
    await ended
    clearTimeout(timer)
  }
}
