import { afterAll, afterEach } from "vitest"
import { describeStore } from "../../testing/store-conformance/describe-store.ts"
import { TestDatabase } from "../../../tools/postgres/test-database.ts"

const database = new TestDatabase(60, undefined, 3)
afterEach(() => database.reset())
afterAll(() => database.drop())

describeStore("postgres, in partitions", () => database.emptyStore())
