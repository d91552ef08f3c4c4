import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { ChaosWorkerOptions } from "./chaos-worker.ts"

const script = fileURLToPath(new URL("./chaos-worker.ts", import.meta.url))

/** A place for a worker: when one is gone, another takes it. */
export class ChaosProcess {
  readonly #options: Omit<ChaosWorkerOptions, "name">
  readonly #place: number
  #child: ChildProcess | undefined
  #lives = 0
  #isOver = false
  /** It has its engine, and executes. */
  isReady = false
  /** What it said on standard error, in all its lives, other than that it could not reach the server when it began. */
  complaints = ""

  constructor(place: number, options: Omit<ChaosWorkerOptions, "name">) {
    this.#place = place
    this.#options = options
    this.#spawn()
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** Moves the wall clock of this life. False: nobody is there to move it. */
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
      // As an orchestrator would, it begins another: also one that found no server.
      if (!said.includes("STORE_UNREACHABLE") && !said.includes("DISK_FULL")) this.complaints += said
      if (!this.#isOver) this.#spawn()
    })
  }
}
