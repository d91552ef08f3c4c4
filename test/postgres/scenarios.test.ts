import { createTestEngine } from "perdure/testing"
import { afterAll, afterEach } from "vitest"
import { describeScenarios } from "../../src/testing/scenarios/describe-scenarios.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"

const database = new TestDatabase()
afterEach(() => database.reset())
afterAll(() => database.drop())

describeScenarios("postgres", async ({ wrap = (store) => store, ...options }) => createTestEngine({ ...options, store: wrap(await database.emptyStore()) }))
