import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export interface WorkerOptions {
  readonly folder: string
  /** Counts the processes of a folder. */
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

/** A worker process, seen from the test that started it. */
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
      // Each life would otherwise compile all of the sources again.
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

  /** What it wrote to its output, warnings and errors among it. */
  get output(): string {
    return this.#errors
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Whether it has reported such a thing. */
  has(is: (report: WorkerReport) => boolean): boolean {
    return this.#reports.some(is)
  }

  /** Resolves to false if it exits, or the time is over, before it reports such a thing. */
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

/** It executes the workflows of its store. */
export const isWorker = (report: WorkerReport) => report.type === "role" && report.role === "worker"
/** Another process executes; this one waits for its turn. */
export const isStandingBy = (report: WorkerReport) => report.type === "role" && report.role === "client"
/** It has called a step's function. */
export const isWorking = (report: WorkerReport) => report.type === "work"
