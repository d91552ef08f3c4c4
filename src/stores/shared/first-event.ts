import { takesEvent } from "../../core/workflow/declared-events.ts"
import type { Delivery } from "../../ports/directory.ts"
import type { NewMessage, Turn } from "../../ports/journal-store.ts"

/** Whether the instance that the turn creates accepts the message that is delivered with the creation. */
export function takesFirst({ create }: Turn, { isChecked, topic = "" }: NewMessage): boolean {
  return !isChecked || takesEvent(create?.events, topic)
}

/** The outcome of delivering a message that the new instance would not accept. An instance that exists may still have accepted the message. */
export function refusedOr(delivery: Delivery): Delivery {
  return delivery === "absent" ? "unknown-event" : delivery
}
