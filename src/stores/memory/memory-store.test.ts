import { describeStore } from "../../testing/store-conformance/describe-store.ts"
import { memory } from "./memory.ts"

describeStore("memory", memory)
