import type { PublicEngine } from "../engine/public-engine.ts"
import { createTestEngine as createWholeTestEngine, type TestEngine, type TestEngineOptions } from "./test-engine.ts"

/** An engine in virtual time, as tests of workflows see it. Time stands still until the test moves it. */
export interface PublicTestEngine extends Omit<TestEngine, "current" | "open"> {
  /** The engine as it is now: another one after each crash. Throws `ENGINE_CLOSED` once the test engine is closed. */
  readonly current: PublicEngine
}

/**
 * An engine with virtual time for tests of workflows: nothing waits, crashes are a call, steps can be replaced. Throws what `Perdure.open` throws.
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
