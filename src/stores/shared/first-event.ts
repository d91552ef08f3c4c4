import { takesEvent } from "../../core/workflow/declared-events.ts"
import type { Delivery } from "../../ports/directory.ts"
import type { NewMessage, Turn } from "../../ports/journal-store.ts"

/** Whether the instance that the turn creates takes the message that comes with it. */
export function takesFirst({ create }: Turn, { isChecked, topic = "" }: NewMessage): boolean {
  return !isChecked || takesEvent(create?.events, topic)
}

/** What became of a message that a new instance would not take: one that exists may take it all the same. */
export function refusedOr(delivery: Delivery): Delivery {
  return delivery === "absent" ? "unknown-event" : delivery
}
