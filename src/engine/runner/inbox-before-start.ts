import { isControl } from "../../core/journal/control-message.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { SmallQueue } from "../../core/collections/small-queue.ts"
import type { Message } from "../../ports/journal-store.ts"
import type { Input } from "./runner-input.ts"
import type { TurnWriter } from "./turn-writer.ts"

/**
 * An instance that was loaded, before anything of it starts: no first run, no timer, no retry. Its inbox is read, and a crash of its last
 * worker is recorded. Then the pauses, resumes, cancels and terminates of that inbox are taken in, before its code sees anything and before
 * the events that came with them.
 */
export class InboxBeforeStart {
  /** What is read of its inbox; undefined: all of it was. */
  #unread: Message[] | undefined = []
  #controls = 0
  #isCounting = false

  /** Nothing happens to the instance yet. */
  get isClosed(): boolean {
    return this.#unread !== undefined || this.#isCounting
  }

  /** The code may be what kills the process: the crash is counted before any of the code runs. `then`: its entry is durable. */
  recordCrash(writer: TurnWriter, then: () => void): void {
    this.#isCounting = true
    writer.whenDurable({
      afterCommit: () => {
        this.#isCounting = false
        then()
      },
    })
    writer.seal(true)
  }

  /** Controls of the inbox are to be taken in before anything is released to the code. */
  get hasControls(): boolean {
    return this.#controls > 0
  }

  /**
   * A part of the inbox; `isAll`: the last one. Then the controls of all parts are put before all other inputs. False: the inbox was read before.
   * A control may stand behind any number of events, so nothing starts before the last part is there.
   */
  read(part: readonly Message[], isAll: boolean, inputs: SmallQueue<Input>, inputOf: (message: Message) => Input): boolean {
    const read = this.#unread
    if (read === undefined) return false
    for (const message of part) read.push(message)
    if (!isAll) return true
    this.#unread = undefined
    const controls = read.filter(({ kind }) => isControl(kind))
    this.#controls = controls.length
    inputs.unshift(controls.map(inputOf))
    for (const message of read) if (!isControl(message.kind)) inputs.push(inputOf(message))
    return true
  }

  /** An input was taken in. If it was the last control and it pauses the instance, none of the steps that the journal has as under way runs. */
  took(state: InstanceState): void {
    if (this.#controls > 0 && --this.#controls === 0) state.dormant = state.isHeldBack
  }
}
