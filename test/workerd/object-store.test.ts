import { multiInstanceStore } from "./multi-instance-store.ts"
import { describeStore } from "../../src/testing/store-conformance/describe-store.ts"
import { currentState } from "./vitest-in-object.ts"

describeStore("a Durable Object's database", () => multiInstanceStore(currentState().storage))
