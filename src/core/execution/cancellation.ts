import { CancelledError } from "../errors.ts"
import type { Children } from "./child-handles.ts"
import type { OpenAsks } from "./open-asks.ts"

/**
 * The effects of a cancel on workflow code. They happen when the entry `cancel.requested` is released, live and on replay:
 *
 *   recorded before it   sleep, wait, condition        rejects now with `CancelledError`
 *                        step between two attempts     rejects now; no further attempt begins
 *                        step with a running attempt   rejects when the attempt ends, whatever its result
 *   asked for, but not   sleep, wait, condition        rejects now
 *   recorded yet         step                          runs, because it may be clean-up
 *   `child.result()`                                   rejects now
 *   `ctx.signal`                                       aborts now
 *   asked for later      sleep, wait, `child.result()` rejects at once
 *                        step                          runs
 *
 * The engine does the rest: `RunCompletion.cancel` aborts the signals of running attempts, and `InstanceTimers` ends the run after the grace.
 */
export class Cancellation {
  readonly #instance: string
  #error: CancelledError | undefined = undefined
  #controller: AbortController | undefined = undefined

  constructor(instance: string) {
    this.#instance = instance
  }

  /** Undefined: no cancel was requested. */
  get error(): CancelledError | undefined {
    return this.#error
  }

  get isRequested(): boolean {
    return this.#error !== undefined
  }

  /** The signal that the code reads as `ctx.signal`. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#error) this.#controller.abort(this.#error)
    }
    return this.#controller.signal
  }

  /** Applies the cancel. `children` is undefined if the code has started none. */
  request({ position, reason }: CancelRequest, asks: OpenAsks, children: Children | undefined): void {
    const error = new CancelledError(this.#instance, reason)
    this.#error = error
    rejectAsks(asks, position, error)
    children?.rejectAwaited(error)
    this.#controller?.abort(error)
  }

  /** Throws after a cancel. Called for each new sleep, wait and `child.result()`. */
  throwIfRequested(): void {
    if (this.#error) throw this.#error
  }
}

export interface CancelRequest {
  /** The position of the entry `cancel.requested`. */
  readonly position: number
  readonly reason: string | undefined
}

function rejectAsks(asks: OpenAsks, position: number, error: CancelledError): void {
  for (const ask of asks.all()) {
    if (ask.request.kind === "do") {
      const isRecordedBefore = ask.position > 0 && ask.position < position
      if (!isRecordedBefore) continue
      // The promise rejects when the running attempt has ended, so that the code does not clean up while the attempt still runs.
      ask.cancelled = error
      if (ask.isAttemptRunning) continue
    }
    asks.take(ask.request.id)
    ask.reject(error)
  }
}
