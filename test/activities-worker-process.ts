// activities-dialect.test.ts runs this process: a worker without workflows, for the activities of the task queue "gpu". It stops when its input ends.

import { defineActivity, WorkflowWorker } from "../src/activities.ts"
import { sqlite } from "../src/sqlite.ts"

const whereAmI = defineActivity("whereAmI", async (word: string) => ({ word, pid: process.pid }))

const [, , file = ""] = process.argv
const store = sqlite(file, { durability: "process", pollInterval: 2 })
const worker = new WorkflowWorker({ store, taskQueue: "gpu", activities: [whereAmI] })
process.stdin.on("end", () => void worker.shutdown()).resume()
await worker.run()
console.log("shut down")
