import type { EventHandler } from "../workflow/context.ts"

/** The events that workflow code has said it handles, by their type. */
export class EventHandlers {
  readonly #handlers = new Map<string, EventHandler<never>>()

  onEvent(type: string, handler: EventHandler<never>): void {
    this.#handlers.set(type, handler)
  }

  /** An event can make one of them run, and so settle what the code waits for. */
  get areOpen(): boolean {
    return this.#handlers.size > 0
  }

  handlesEvent(type: string): boolean {
    return this.#handlers.has(type)
  }

  event(type: string, payload: unknown): unknown {
    return this.#handlers.get(type)?.(payload as never)
  }
}
