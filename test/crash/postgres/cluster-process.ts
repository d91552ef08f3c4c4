import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Duration } from "../../../src/index.ts"

export interface ClusterWorkerOptions {
  readonly url: string
  readonly schema: string
  readonly lease: Duration
  readonly stepMs: number
  readonly answerTimeout?: Duration
  readonly drain?: Duration
  /** The process has loaded its code, and opens its engine when it is told to. That saves time at that moment. */
  readonly isPaused?: boolean
}

export type ClusterReport =
  | { readonly type: "ready" }
  | { readonly type: "step"; readonly instance: string; readonly step: number }
  | { readonly type: "aborted" | "answered"; readonly instance: string }

/** The worker waits for the results of these instances, and reports when it has them. */
export interface ClusterCommand {
  readonly wanted: readonly string[]
}

const script = fileURLToPath(new URL("./worker.ts", import.meta.url))

/** A worker of the cluster, seen from the test that started it. */
export class ClusterProcess {
  readonly reports: ClusterReport[] = []
  readonly exited: Promise<void>
  readonly #child: ChildProcess
  readonly #listeners = new Set<() => void>()
  #errors = ""

  constructor(options: ClusterWorkerOptions) {
    this.#child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, JSON.stringify(options)], {
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    })
    this.exited = once(this.#child, "exit").then(() => undefined)
    this.#child.stderr?.on("data", (text: Buffer) => (this.#errors += text.toString()))
    this.#child.on("message", (report: ClusterReport) => {
      this.reports.push(report)
      for (const listener of this.#listeners) listener()
    })
  }

  get steps(): number {
    return this.reports.filter(({ type }) => type === "step").length
  }

  /** Resolves when the worker has reported that. Rejects if the worker ends before. */
  async reported(isSo: (reports: readonly ClusterReport[]) => boolean): Promise<void> {
    if (isSo(this.reports)) return
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!isSo(this.reports)) return
        this.#listeners.delete(look)
        resolve()
      }
      this.#listeners.add(look)
      void this.exited.then(() => reject(new Error(`the worker ended: ${this.#errors}`)))
    })
  }

  ready(): Promise<void> {
    return this.reported((reports) => reports.some(({ type }) => type === "ready"))
  }

  async goOn(): Promise<void> {
    this.#child.send("go on")
    await this.reported((reports) => reports.filter(({ type }) => type === "ready").length === 2)
  }

  awaits(wanted: readonly string[]): void {
    this.#child.send({ wanted } satisfies ClusterCommand)
  }

  /** Waits until the worker has called this many more steps. */
  async works(more = 1): Promise<void> {
    const goal = this.steps + more
    await this.reported(() => this.steps >= goal)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.signal(signal)
    await this.exited
  }
}
