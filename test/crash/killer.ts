// A thread that kills. It watches what its victim and the client are doing while the main thread is busy being the client,
// so that a kill can hit what lasts less than a millisecond, in the middle of the client's own writes too.

import { Worker, isMainThread, parentPort } from "node:worker_threads"
import { fileURLToPath } from "node:url"
import { type Phase, PhaseWatch, phases } from "./phases.ts"

export type Aim = Phase | "idle" | "client" | "anytime"

export interface KillOrder {
  readonly pid: number
  readonly phaseFile: string
  readonly aim: Aim
  /** From the moment the victim is in the phase aimed at. */
  readonly delayMs: number
  /** After so long it is killed wherever it is. */
  readonly patienceMs: number
  /** Not 0 while the client writes. */
  readonly clientWriting: Int32Array
}

export interface Hit {
  /** The client was writing when the signal was sent. */
  readonly clientWrite: boolean
}

export class Killer {
  readonly #thread = new Worker(fileURLToPath(new URL("./killer.ts", import.meta.url)), { execArgv: [] })

  kill(order: KillOrder): Promise<Hit> {
    return new Promise((resolve, reject) => {
      this.#thread.once("error", reject)
      this.#thread.once("message", (hit: Hit) => {
        this.#thread.off("error", reject)
        resolve(hit)
      })
      this.#thread.postMessage(order)
    })
  }

  async close(): Promise<void> {
    await this.#thread.terminate()
  }
}

const never = new Int32Array(new SharedArrayBuffer(4))
const pauseMs = 0.02
const idleMs = 3

function pause(ms: number): void {
  const end = performance.now() + ms
  if (ms > 1) Atomics.wait(never, 0, 0, ms - 1)
  // A wait is too coarse for what is left.
  while (performance.now() < end);
}

/** For more than the moment between two steps. */
function isIdle(watch: PhaseWatch): boolean {
  const until = performance.now() + idleMs
  while (performance.now() < until) if (watch.read() !== 0) return false
  return true
}

function carryOut({ pid, phaseFile, aim, delayMs, patienceMs, clientWriting }: KillOrder): Hit {
  const watch = new PhaseWatch(phaseFile)
  const isReached = () => {
    if (aim === "anytime") return true
    if (aim === "client") return Atomics.load(clientWriting, 0) !== 0
    return aim === "idle" ? isIdle(watch) : (watch.read() & phases[aim]) !== 0
  }
  const until = performance.now() + patienceMs
  while (!isReached() && performance.now() < until) Atomics.wait(never, 0, 0, pauseMs)
  pause(delayMs)
  const clientWrite = Atomics.load(clientWriting, 0) !== 0
  process.kill(pid, "SIGKILL")
  watch.close()
  return { clientWrite }
}

if (!isMainThread && parentPort) {
  const port = parentPort
  port.on("message", (order: KillOrder) => port.postMessage(carryOut(order)))
}
