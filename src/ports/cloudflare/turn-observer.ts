import type { NewMessage, Turn } from "../journal-store.ts"

/** Where what turns do beyond their own instance goes, if the other instances are elsewhere. Both are called inside the turn's transaction. */
export interface TurnObserver {
  onMessage(message: NewMessage): void
  /** The turn is written. */
  onTurn(turn: Turn): void
}
