// A worker process of the crash tests. It reports its role over IPC, writes its phases to the phase file, and ends in good
// order on SIGTERM. It does not outlive the test that started it.

import { join } from "node:path"
import { consoleLogger } from "../../src/hosts/node/console-logger.ts"
import { type Logger, Perdure } from "../../src/index.ts"
import { sqlite } from "../../src/sqlite.ts"
import { bondWorkflows } from "./bond-workflows.ts"
import { Ledger } from "./ledger.ts"
import { lethalWorkflows } from "./lethal-workflows.ts"
import { limitedWorkflows } from "./limited-workflows.ts"
import { markedStore } from "./marked-store.ts"
import { PhaseMarks } from "./phases.ts"
import { transactionWorkflows } from "./transaction-workflows.ts"
import { undoingWorkflows } from "./undoing-workflows.ts"
import type { WorkerOptions, WorkerReport } from "./worker-process.ts"
import { scheduled } from "./scheduled-workflow.ts"
import { sceneWorkflows } from "./workflows.ts"

const { folder, life, maxRecoveries } = JSON.parse(process.argv[2] ?? "{}") as WorkerOptions

function report(message: WorkerReport): void {
  process.send?.(message)
}

process.on("disconnect", () => process.exit(1))

const marks = new PhaseMarks(join(folder, `phase-${life}`))
const ledger = new Ledger(folder, life)

let recovery: "open" | "replay" | "over" = "open"
const recovered = () => {
  if (recovery === "replay") marks.leave("replay")
  recovery = "over"
  marks.leave("recovery")
}

const store = markedStore(sqlite(join(folder, "app.db")), {
  during: (operation, work) => marks.during(operation === "deliver" ? "claim" : operation, work),
  onClaimed: (count) => {
    if (recovery !== "open") return
    if (count === 0) return recovered()
    recovery = "replay"
    marks.enter("replay")
  },
  onCommitted: () => {
    if (recovery === "replay") recovered()
  },
})

/** Steps and instances of these workflows fail on purpose, so these warnings are dropped. Other warnings go to the output, which the tests expect to be empty. */
const log: Logger = {
  ...consoleLogger,
  warn: (message, data) => {
    const tellsOfFailure = data?.["workflow"] !== undefined && data["error"] !== undefined
    if (!tellsOfFailure) consoleLogger.warn(message, data)
  },
}

let worked = false
marks.enter("recovery")
const engine = await Perdure.open({
  store,
  log,
  workflows: [
    ...sceneWorkflows(ledger, marks),
    ...lethalWorkflows(folder, ledger, marks),
    ...undoingWorkflows(ledger, marks),
    ...transactionWorkflows(folder),
    ...limitedWorkflows(folder, marks),
    ...bondWorkflows(ledger, marks),
    scheduled,
  ],
  // Longer than the test, so that no cancel is forced, however many kills there are.
  cancelGrace: "1h",
  ...(maxRecoveries === undefined ? undefined : { maxRecoveries }),
  interceptors: [
    (_step, next) => {
      if (!worked) report({ type: "work" })
      worked = true
      return next()
    },
  ],
})

process.once("SIGTERM", () => {
  void engine.close().then(() => process.exit(0))
})

let role = engine.role
report({ type: "role", role })
setInterval(() => {
  if (engine.role === role) return
  role = engine.role
  report({ type: "role", role })
}, 5)
