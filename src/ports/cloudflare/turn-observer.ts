import type { NewMessage, Turn } from "../journal-store.ts"

/** Observes the turns of a database that has one instance only. Both methods are called inside the turn's transaction. */
export interface TurnObserver {
  /** The turn sends a message to an instance that is not in this database. */
  onMessage(message: NewMessage): void
  /** The turn is written. */
  onTurn(turn: Turn): void
}
