// A process that runs activities and no workflows: `node activity-process.js <target> <folder>`. It reports when it is ready, answers each message with
// the number of statements that it has sent to PostgreSQL, and ends with its parent.

import { Perdure } from "perdure"
import pg from "pg"
import { targetCalled } from "../target.ts"
import { activities, taskQueues } from "./activity-workflows.ts"

let statements = 0

/** Counts every statement of every connection, also BEGIN and LISTEN. The counters of the server would include those of other processes. */
const prototype = pg.Client.prototype as { query: (...given: unknown[]) => unknown }
const { query } = prototype
prototype.query = function (...given) {
  statements++
  return query.apply(this, given)
}

const [target = "", folder = ""] = process.argv.slice(2)
const engine = await Perdure.open({ store: targetCalled(target).store(folder), activities, taskQueues, role: "client" })
process.on("message", () => process.send?.(statements))
process.on("disconnect", () => void engine.close().finally(() => process.exit(0)))
process.send?.("ready")
