import { createTestEngine } from "../../../src/testing/test-engine.ts"
import { afterAll, afterEach } from "vitest"
import { describeScenarios } from "../../../src/testing/scenarios/describe-scenarios.ts"
import { TestDatabase } from "../../../tools/postgres/test-database.ts"

/** Runs one of three parts of the scenarios on PostgreSQL, so that the parts can run at the same time. */
export function describePart(number: number): void {
  const database = new TestDatabase()
  afterEach(() => database.reset())
  afterAll(() => database.drop())
  describeScenarios("postgres", async ({ wrap = (store) => store, ...options }) => createTestEngine({ ...options, store: wrap(await database.emptyStore()) }), {
    number,
    of: 3,
  })
}
