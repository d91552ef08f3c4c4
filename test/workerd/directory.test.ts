import { env } from "cloudflare:workers"
import type { ObjectNamespace } from "perdure/cloudflare"
import { describeDirectory } from "../../src/testing/store-conformance/describe-directory.ts"
import { worldOf } from "./apart-runner.ts"
import { rpcDirectory } from "./rpc-directory.ts"
import { outside } from "./vitest-in-object.ts"

outside.isOn = true
outside.left.set("messages are read in the order of delivery, over several instances and calls", "each object numbers the messages of its one instance")
outside.left.set("a worker learns which of its own instances have unread messages", "the only worker of an instance is in its object, and asks there")

const { APART } = env as { readonly APART: ObjectNamespace }
let worlds = 0

describeDirectory("objects over RPC", () => rpcDirectory(worldOf(APART, `d${++worlds}`), 2))
