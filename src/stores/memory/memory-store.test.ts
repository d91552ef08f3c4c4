import { describeStore } from "../../testing/store-conformance/describe-store.ts"
import { memory } from "./memory-provider.ts"

describeStore("memory", memory)
