import type { PublicEngine } from "../engine/public-engine.ts"
import { createTestEngine as createWholeTestEngine, type TestEngine, type TestEngineOptions } from "./test-engine.ts"

/** The public interface of a test engine. Virtual time stands still until the test moves it. */
export interface PublicTestEngine extends Omit<TestEngine, "current" | "open"> {
  /** The current engine: a new one after each crash. Throws `ENGINE_CLOSED` after the test engine is closed. */
  readonly current: PublicEngine
}

/**
 * Opens an engine with virtual time for tests of workflows: no test waits for real time, a crash is a method call, and steps can be replaced. It throws the
 * same errors as `Perdure.open`.
 *
 * @example
 * await using engine = await createTestEngine({ workflows: [reminder] })
 * const handle = await engine.start(reminder, { id: "a", input: { task: "the dishes" } })
 * await engine.skip("7d")
 * assert.equal(await handle.result(), "reminded")
 */
export function createTestEngine(options: TestEngineOptions): Promise<PublicTestEngine> {
  return createWholeTestEngine(options)
}
