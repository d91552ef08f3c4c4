import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import { isTypeScript, typeScriptFlags } from "../user-code/workflow-entry.ts"
import type { DevReport, DevSettings } from "./dev-message.ts"

/** How long the engine has to give back what it holds; what it has not finished then is done again. */
const stopMs = 8_000
/** One that dies sooner would die again. */
const livelyMs = 1_000

export interface SupervisorListener {
  onReady(report: DevReport & { readonly type: "ready" }, isRetriedStart: boolean): void
  onFailed(message: string): void
  /** Its database is gone. It is not started again. */
  onGone(message: string): void
  /** It ended by itself; `restarts`: it is started again at once, else with the next change. */
  onDied(how: string, restarts: boolean): void
}

/**
 * Keeps one process that executes, and puts another in its place when it is told to. There are never two: the old one has ended before the
 * next one begins, and goes on where that was.
 */
export class Supervisor {
  readonly #settings: DevSettings
  readonly #listener: SupervisorListener
  #child: ChildProcess | undefined
  #isStopped = false
  #isRetriedStart = false
  /** What is under way: of several changes meanwhile, the last counts. */
  #replacing: Promise<void> | undefined
  #wantsReplacing = false

  constructor(settings: DevSettings, listener: SupervisorListener) {
    this.#settings = settings
    this.#listener = listener
  }

  start(): void {
    const extension = extname(fileURLToPath(import.meta.url))
    const script = fileURLToPath(new URL(`./dev-child${extension}`, import.meta.url))
    const flags = isTypeScript(this.#settings.entry) || isTypeScript(script) ? typeScriptFlags() : []
    const child = fork(script, [JSON.stringify(this.#settings)], {
      execArgv: [...flags],
      cwd: this.#settings.cwd,
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    })
    this.#child = child
    let isReady = false
    let hasFailed = false
    const begunAt = performance.now()
    child.on("message", (report: DevReport) => {
      if (report.type === "ready") {
        isReady = true
        this.#listener.onReady(report, this.#isRetriedStart)
      } else {
        hasFailed = true
        if (report.type === "gone") this.#listener.onGone(report.message)
        else this.#listener.onFailed(report.message)
      }
      this.#isRetriedStart = true
    })
    child.on("exit", (code, signal) => {
      if (this.#child !== child) return
      this.#child = undefined
      if (this.#isStopped || hasFailed || this.#replacing) return
      const restarts = isReady && performance.now() - begunAt > livelyMs
      this.#listener.onDied(signal === null ? `exit code ${code}` : signal, restarts)
      if (restarts) this.start()
    })
  }

  /** Ends what runs in good order, and starts anew. */
  replace(): void {
    if (this.#isStopped) return
    this.#wantsReplacing = true
    this.#replacing ??= this.#replaceAll().finally(() => (this.#replacing = undefined))
  }

  async #replaceAll(): Promise<void> {
    while (this.#wantsReplacing && !this.#isStopped) {
      this.#wantsReplacing = false
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
