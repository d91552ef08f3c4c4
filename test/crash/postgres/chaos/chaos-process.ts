import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { ChaosWorkerOptions } from "./chaos-worker.ts"

const script = fileURLToPath(new URL("./chaos-worker.ts", import.meta.url))

/** Keeps one worker process running: when a process ends, another is started. */
export class ChaosProcess {
  readonly #options: Omit<ChaosWorkerOptions, "name">
  readonly #place: number
  #child: ChildProcess | undefined
  #lives = 0
  #isOver = false
  /** The worker has opened its engine, and executes. */
  isReady = false
  /** The standard error of all its processes, without the message that the server could not be reached at the start. */
  complaints = ""

  constructor(place: number, options: Omit<ChaosWorkerOptions, "name">) {
    this.#place = place
    this.#options = options
    this.#spawn()
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** Moves the wall clock of the current process. False: no process is running. */
  stepClock(ms: number): boolean {
    return this.#child?.connected === true && this.#child.send({ stepMs: ms })
  }

  async end(): Promise<void> {
    this.#isOver = true
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.kill("SIGKILL")
    await once(child, "exit")
  }

  #spawn(): void {
    this.isReady = false
    const options: ChaosWorkerOptions = { ...this.#options, name: `${this.#place}.${++this.#lives}` }
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, JSON.stringify(options)], {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    })
    this.#child = child
    let said = ""
    child.stderr?.on("data", (text: Buffer) => (said += text.toString()))
    child.on("message", () => (this.isReady = true))
    child.once("exit", () => {
      // As an orchestrator would, it starts another process, also after a process that found no server.
      if (!said.includes("STORE_UNREACHABLE") && !said.includes("DISK_FULL")) this.complaints += said
      if (!this.#isOver) this.#spawn()
    })
  }
}
