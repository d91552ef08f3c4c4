import { createTestEngine } from "../../../src/testing/test-engine.ts"
import { afterAll, afterEach } from "vitest"
import { describeScenarios } from "../../../src/testing/scenarios/describe-scenarios.ts"
import { TestDatabase } from "../../../tools/postgres/test-database.ts"

/** What a user may rely on, on PostgreSQL: one of three parts, as each takes its time. */
export function describePart(number: number): void {
  const database = new TestDatabase()
  afterEach(() => database.reset())
  afterAll(() => database.drop())
  describeScenarios("postgres", async ({ wrap = (store) => store, ...options }) => createTestEngine({ ...options, store: wrap(await database.emptyStore()) }), {
    number,
    of: 3,
  })
}
