import type { Engine } from "./engine.ts"

/** The engine as users see it: without its components and its test methods. */
export interface PublicEngine extends Omit<Engine, "core" | "components" | "calls" | "kill"> {}

/** The engine itself, for the other entries of this package. */
export function wholeEngine(engine: PublicEngine): Engine {
  return engine as Engine
}
