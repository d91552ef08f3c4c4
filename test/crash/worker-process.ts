import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export interface WorkerOptions {
  readonly folder: string
  /** The number of the process within its folder. */
  readonly life: number
  readonly maxRecoveries?: number
  /** Where Node keeps compiled modules; default: where the runner of the suites keeps them, or in the folder. */
  readonly cache?: string
}

export type WorkerReport = { readonly type: "work" } | { readonly type: "role"; readonly role: "worker" | "client" }

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

const script = fileURLToPath(new URL("./worker.ts", import.meta.url))
const errorsMax = 8_000

/** Controls a worker process, from the test that starts it. */
export class WorkerProcess {
  readonly pid: number
  readonly phaseFile: string
  readonly exited: Promise<Exit>
  readonly #child: ChildProcess
  readonly #reports: WorkerReport[] = []
  readonly #listeners = new Set<() => void>()
  #errors = ""

  constructor(options: WorkerOptions) {
    const { folder, life, cache = process.env["NODE_COMPILE_CACHE"] ?? join(folder, "compile-cache") } = options
    this.phaseFile = join(folder, `phase-${life}`)
    this.#child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, JSON.stringify(options)], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      // Each process would otherwise compile all sources again.
      env: { ...process.env, NODE_COMPILE_CACHE: cache },
    })
    const { pid } = this.#child
    if (pid === undefined) throw new Error("the worker process could not be started")
    this.pid = pid
    this.exited = new Promise((resolve) => this.#child.once("exit", (code, signal) => resolve({ code, signal })))
    const take = (text: Buffer) => {
      this.#errors = (this.#errors + text.toString()).slice(-errorsMax)
    }
    this.#child.stdout?.on("data", take)
    this.#child.stderr?.on("data", take)
    this.#child.on("message", (report: WorkerReport) => {
      this.#reports.push(report)
      for (const listener of this.#listeners) listener()
    })
  }

  /** The end of the output of the process, including warnings and errors. */
  get output(): string {
    return this.#errors
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Whether the process has sent such a report. */
  has(is: (report: WorkerReport) => boolean): boolean {
    return this.#reports.some(is)
  }

  /** Waits for such a report. Resolves to false if the process exits or the time is over before. */
  async reported(is: (report: WorkerReport) => boolean, withinMs: number): Promise<boolean> {
    const found = () => this.has(is)
    if (found()) return true
    return new Promise((resolve) => {
      const answer = (value: boolean) => {
        clearTimeout(timer)
        this.#listeners.delete(look)
        resolve(value)
      }
      const look = () => {
        if (found()) answer(true)
      }
      const timer = setTimeout(() => answer(false), withinMs)
      this.#listeners.add(look)
      void this.exited.then(() => answer(found()))
    })
  }

  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<Exit> {
    if (this.alive) this.#child.kill(signal)
    return this.exited
  }
}

/** The process executes the workflows of its store. */
export const isWorker = (report: WorkerReport) => report.type === "role" && report.role === "worker"
/** Another process executes the workflows, and this process stands by. */
export const isStandingBy = (report: WorkerReport) => report.type === "role" && report.role === "client"
/** The process has called the function of a step. */
export const isWorking = (report: WorkerReport) => report.type === "work"
