import type { Turn } from "../journal-store.ts"
import type { ObjectMessage } from "./task-order.ts"

/** Observes the turns of a database that has one instance only. Both methods are called inside the turn's transaction. */
export interface TurnObserver {
  /** The turn sends a message to another object. */
  onMessage(message: ObjectMessage): void
  /** The turn is written. */
  onTurn(turn: Turn): void
}
