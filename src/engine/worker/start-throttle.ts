import { Deferred } from "../../core/execution/deferred.ts"
import type { GroupCommitter } from "./group-committer.ts"
import type { MacrotaskQueue } from "../runner/macrotask-queue.ts"

/** So many may start together; */
const waveMax = 340
/** where several batches may be under way, so many for each of them. */
const concurrentWaveMax = 128
/** The next come when so few are busy, but for those of the other waves, */
const busyMax = 60
/** or when the others have had so many commits. */
const commitsMax = 16

/**
 * Starts that come in crowds wait here until those before them have got on. A thousand instances that go in step are not done sooner than
 * some hundreds after another, but take more memory, and what lives long is expensive to collect. An instance that waits for the
 * function of a step, an event or a time is not busy.
 */
export class StartThrottle {
  readonly #macrotaskQueue: MacrotaskQueue
  readonly #committer: GroupCommitter
  readonly #waveMax: number
  readonly #busyMax: number
  /** Those that wait, a wave after the other. */
  readonly #waves: StartWave[] = []
  /** How many may still start in this wave. */
  #room: number
  /** Those that were written when the wave began. */
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

  /** Undefined: it may start at once. */
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

  /** Nobody waits any more: all go on, or are refused. */
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

  /** Where all that was busy has come to rest, or failed to start, nothing else makes the next beat. */
  #admitWhenIdle(): void {
    if (this.#isAdmissionScheduled) return
    this.#isAdmissionScheduled = true
    void this.#committer.whenIdle().then(() => {
      this.#isAdmissionScheduled = false
      if (this.#waves.length > 0) this.#macrotaskQueue.schedule()
    })
  }
}

/** Starts that go together. They wait for one promise: a crowd that waits is to take little memory. */
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
