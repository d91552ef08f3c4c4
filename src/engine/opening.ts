import { isControl } from "../core/control.ts"
import type { InstanceState } from "../core/instance-state.ts"
import type { SmallQueue } from "../core/small-queue.ts"
import type { Message } from "../ports/journal-store.ts"
import type { Input } from "./input.ts"
import type { TurnWriter } from "./turn-writer.ts"

/**
 * An instance that was loaded, before anything of it starts: no first run, no timer, no retry. Its inbox is read, and a crash of its last
 * worker is recorded. Then the pauses, resumes, cancels and terminates of that inbox are taken in, before its code sees anything and before
 * the events that came with them.
 */
export class Opening {
  #isUnread = true
  #controls = 0
  #isCounting = false

  /** Nothing happens to the instance yet. */
  get isClosed(): boolean {
    return this.#isUnread || this.#isCounting
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

  /** Puts the controls among the first messages before all other inputs. False: the inbox was read before. */
  read(messages: readonly Message[], inputs: SmallQueue<Input>, inputOf: (message: Message) => Input): boolean {
    if (!this.#isUnread) return false
    this.#isUnread = false
    const controls = messages.filter(({ kind }) => isControl(kind))
    this.#controls = controls.length
    inputs.unshift(controls.map(inputOf))
    for (const message of messages) if (!isControl(message.kind)) inputs.push(inputOf(message))
    return true
  }

  /** An input was taken in. If it was the last control and it pauses the instance, none of the steps that the journal has as under way runs. */
  took(state: InstanceState): void {
    if (this.#controls > 0 && --this.#controls === 0) state.dormant = state.isHeldBack
  }
}
