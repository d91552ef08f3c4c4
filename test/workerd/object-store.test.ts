import { objectStore } from "../../src/stores/sqlite/object/object-multi-store.ts"
import { describeStore } from "../../src/testing/store-conformance/describe-store.ts"
import { currentState } from "./vitest-in-object.ts"

describeStore("a Durable Object's database", () => objectStore(currentState().storage))
