import { isControl } from "../../core/journal/control-message.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { SmallQueue } from "../../core/collections/small-queue.ts"
import type { Message } from "../../ports/journal-store.ts"
import type { RunnerInput } from "./runner-input.ts"
import type { TurnWriter } from "./turn-writer.ts"

/**
 * Holds back a loaded instance until its inbox is read. Until then nothing of the instance starts: no code, no timer, no retry. So a pause or a cancel that
 * was acknowledged before the load takes effect before any step begins.
 *
 *   1. The inbox is read in parts. If the last worker died, the crash is recorded, and its entry becomes durable.
 *   2. The controls of the inbox (pause, resume, cancel, terminate) are handled: before the code sees anything, and before the events of the inbox.
 *   3. The instance runs as any other.
 */
export class InboxBeforeStart {
  /** The messages that are read so far; undefined: the whole inbox was read. */
  #readSoFar: Message[] | undefined = []
  #controlsLeft = 0
  #isRecordingCrash = false

  /** Nothing of the instance may start yet. */
  get blocksStart(): boolean {
    return this.#readSoFar !== undefined || this.#isRecordingCrash
  }

  /** The instance's own code may have killed the process, so the crash is counted before any of the code runs. `then` is called when the entry is durable. */
  recordCrash(writer: TurnWriter, then: () => void): void {
    this.#isRecordingCrash = true
    writer.whenDurable({
      afterCommit: () => {
        this.#isRecordingCrash = false
        then()
      },
    })
    writer.seal(true)
  }

  /** Controls of the inbox are still to be handled, before anything is released to the code. */
  get hasControls(): boolean {
    return this.#controlsLeft > 0
  }

  /**
   * Takes a part of the inbox. With the last one (`isAll`), the controls of all parts go before all other inputs. False: the whole inbox was read before.
   * A control may come after any number of events, so nothing starts before the last part is read.
   */
  receive(part: readonly Message[], isAll: boolean, inputs: SmallQueue<RunnerInput>, inputOf: (message: Message) => RunnerInput): boolean {
    const read = this.#readSoFar
    if (read === undefined) return false
    for (const message of part) read.push(message)
    if (!isAll) return true
    this.#readSoFar = undefined
    const controls = read.filter(({ kind }) => isControl(kind))
    this.#controlsLeft = controls.length
    inputs.unshift(controls.map(inputOf))
    for (const message of read) if (!isControl(message.kind)) inputs.push(inputOf(message))
    return true
  }

  /** An input was handled. If it was the last control and the instance is paused now, none of the open steps runs before it is resumed. */
  onHandled(state: InstanceState): void {
    if (this.#controlsLeft > 0 && --this.#controlsLeft === 0) state.isLoadedPaused = state.isPaused
  }
}
