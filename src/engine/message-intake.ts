import type { InstanceState } from "../core/instance-state.ts"
import type { Message } from "../ports/journal-store.ts"

/** Why a message changes nothing, in the words that the journal keeps; undefined: it takes effect. */
export function ignoreReason(message: Message, state: InstanceState): string | undefined {
  switch (message.kind) {
    case "event":
      return message.eventId !== undefined && state.eventIds.has(message.eventId) ? `event id "${message.eventId}" was received already` : undefined
    case "pause":
      if (state.stalled) return "it is stalled"
      if (state.cancel) return "it is being cancelled"
      return state.paused ? "it is paused already" : undefined
    case "resume":
      return state.paused || state.stalled ? undefined : "it is neither paused nor stalled"
    case "cancel":
      if (state.stalled) return "it is stalled: terminate it, or resume it first"
      return state.cancel ? "it is being cancelled already" : undefined
  }
}
