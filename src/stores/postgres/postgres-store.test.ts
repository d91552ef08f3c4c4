import { afterAll } from "vitest"
import { describeStore } from "../../testing/store-conformance/describe-store.ts"
import { TestDatabase } from "../../../tools/postgres/test-database.ts"

const database = new TestDatabase()
afterAll(() => database.drop())

describeStore("postgres", () => database.emptyStore())
