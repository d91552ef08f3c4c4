// A process that executes workflows and starts none: `node worker-process.js <target> <folder> <steps at a time>`. The process reports when it is ready, and ends with its parent.

import { Perdure } from "perdure"
import { workflows } from "./bench-workflows.ts"
import { targetCalled } from "./target.ts"

const [target = "", folder = "", steps = ""] = process.argv.slice(2)
const engine = await Perdure.open({ store: targetCalled(target).store(folder), workflows, ...(steps === "" ? {} : { maxConcurrentSteps: Number(steps) }) })
process.on("disconnect", () => void engine.close().finally(() => process.exit(0)))
process.send?.("ready")
