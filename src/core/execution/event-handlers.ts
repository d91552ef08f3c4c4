import type { EventHandler } from "../workflow/context.ts"

/** The event handlers that workflow code has registered, by event type. */
export class EventHandlers {
  readonly #handlers = new Map<string, EventHandler<never>>()

  onEvent(type: string, handler: EventHandler<never>): void {
    this.#handlers.set(type, handler)
  }

  /** Whether an event may run a handler, which may settle a promise that the code awaits. */
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
