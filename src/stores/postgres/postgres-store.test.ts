import { afterAll, afterEach } from "vitest"
import { describeStore } from "../../testing/store-conformance/describe-store.ts"
import { TestDatabase } from "../../../tools/postgres/test-database.ts"

const database = new TestDatabase()
afterEach(() => database.reset())
afterAll(() => database.drop())

describeStore("postgres", () => database.emptyStore(), { clientTransactions: true })
