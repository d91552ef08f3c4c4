import { isControl } from "../../core/journal/control-message.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { SmallQueue } from "../../core/collections/small-queue.ts"
import type { Message } from "../../ports/journal-store.ts"
import type { RunnerInput } from "./runner-input.ts"
import type { TurnWriter } from "./turn-writer.ts"

/**
 * An instance that was loaded, before anything of it starts: no first run, no timer, no retry. Its inbox is read, and a crash of its last
 * worker is recorded. Then the pauses, resumes, cancels and terminates of that inbox are taken in, before its code sees anything and before
 * the events that came with them.
 */
export class InboxBeforeStart {
  /** What is read of its inbox; undefined: all of it was. */
  #readSoFar: Message[] | undefined = []
  #controlsLeft = 0
  #isRecordingCrash = false

  /** Nothing happens to the instance yet. */
  get blocksStart(): boolean {
    return this.#readSoFar !== undefined || this.#isRecordingCrash
  }

  /** The code may be what kills the process: the crash is counted before any of the code runs. `then`: its entry is durable. */
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

  /** Controls of the inbox are to be taken in before anything is released to the code. */
  get hasControls(): boolean {
    return this.#controlsLeft > 0
  }

  /**
   * A part of the inbox; `isAll`: the last one. Then the controls of all parts are put before all other inputs. False: the inbox was read before.
   * A control may stand behind any number of events, so nothing starts before the last part is there.
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

  /** An input was taken in. If it was the last control and it pauses the instance, none of the steps that the journal has as under way runs. */
  onHandled(state: InstanceState): void {
    if (this.#controlsLeft > 0 && --this.#controlsLeft === 0) state.dormant = state.isHeldBack
  }
}
