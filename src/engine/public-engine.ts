import type { Engine } from "./engine.ts"

/** An engine as its users see it: a client, and what opens, closes and ticks. What it is made of is no part of that. */
export interface PublicEngine extends Omit<Engine, "core" | "parts" | "calls" | "kill"> {}

/** The engine itself, for what belongs to this package. */
export function wholeEngine(engine: PublicEngine): Engine {
  return engine as Engine
}
