import { Deferred } from "../../core/execution/deferred.ts"
import type { GroupCommitter } from "./group-committer.ts"
import type { MacrotaskQueue } from "../runner/macrotask-queue.ts"

/** The starts of one wave. */
const waveMax = 340
/** The starts of one wave on a store that writes several batches at once: the waves of all batches are under way together. */
const concurrentWaveMax = 128
/** Admit the next wave when at most this many instances are busy, not counting one wave for each further batch, */
const busyMax = 60
/** or when the store has written this many batches since the last wave. */
const commitsMax = 16

/**
 * Admits starts that come in crowds in waves: the next wave starts when most instances of the waves before it have come to rest. A thousand
 * instances that advance together are not done sooner than a few hundred at a time. But they take more memory, and objects that live long are expensive
 * for the garbage collector. An instance that waits for a step's function, an event or a time is not busy.
 */
export class StartThrottle {
  readonly #macrotaskQueue: MacrotaskQueue
  readonly #committer: GroupCommitter
  readonly #waveMax: number
  readonly #busyMax: number
  /** The waiting starts, in waves. */
  readonly #waves: StartWave[] = []
  /** How many starts the current wave still admits. */
  #room: number
  /** How many batches the committer had written when the current wave began. */
  #commits = 0
  #isClosed = false
  #isAdmissionScheduled = false

  constructor(macrotaskQueue: MacrotaskQueue, committer: GroupCommitter) {
    this.#macrotaskQueue = macrotaskQueue
    this.#committer = committer
    const { batchesMax } = committer
    this.#waveMax = batchesMax === 1 ? waveMax : concurrentWaveMax
    this.#busyMax = busyMax + this.#waveMax * (batchesMax - 1)
    this.#room = this.#waveMax
    macrotaskQueue.onDrained = () => this.#admit()
  }

  /** Undefined: the instance may start at once. */
  enter(): Promise<void> | undefined {
    if (this.#isClosed) return undefined
    if (this.#room > 0) {
      this.#room--
      return undefined
    }
    this.#macrotaskQueue.schedule()
    return this.#lastWave().enter()
  }

  #lastWave(): StartWave {
    const last = this.#waves.at(-1)
    if (last && last.size < this.#waveMax) return last
    const wave = new StartWave()
    this.#waves.push(wave)
    return wave
  }

  /** Ends all waits. The starts continue, or are rejected with `refusal`. */
  close(refusal?: unknown): void {
    this.#isClosed = true
    for (const wave of this.#waves.splice(0)) wave.end(refusal)
  }

  #admit(): void {
    const { commits, underWay } = this.#committer
    const busy = this.#macrotaskQueue.size + underWay
    if (busy < this.#busyMax || commits - this.#commits >= commitsMax) {
      this.#commits = commits
      const wave = this.#waves.shift()
      this.#room = this.#waveMax - (wave?.size ?? 0)
      wave?.end()
    }
    if (this.#waves.length > 0) this.#admitWhenIdle()
  }

  /** If all busy instances have come to rest, or failed to start, nothing else schedules the next run of the queue. */
  #admitWhenIdle(): void {
    if (this.#isAdmissionScheduled) return
    this.#isAdmissionScheduled = true
    void this.#committer.whenIdle().then(() => {
      this.#isAdmissionScheduled = false
      if (this.#waves.length > 0) this.#macrotaskQueue.schedule()
    })
  }
}

/** Starts that are admitted together. They wait for one promise, so that a waiting crowd takes little memory. */
class StartWave {
  readonly #start = new Deferred()
  size = 0

  enter(): Promise<void> {
    this.size++
    return this.#start.promise as Promise<void>
  }

  end(refusal?: unknown): void {
    if (refusal === undefined) this.#start.resolve(undefined)
    else this.#start.reject(refusal)
  }
}
