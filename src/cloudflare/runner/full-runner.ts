import type { WorkflowRunnerClass } from "./runner-class.ts"
import { annotations } from "./annotations.ts"
import { changes } from "./changes.ts"
import { children } from "./children.ts"
import { codecs } from "./codecs.ts"
import { flowControl } from "./flow-control.ts"
import { history } from "./history.ts"
import { hooks } from "./hooks.ts"
import { nestedSteps } from "./nested-steps.ts"
import { queries } from "./queries.ts"
import { restarts } from "./restarts.ts"
import { schedules } from "./schedules.ts"
import { transactions } from "./transactions.ts"
import { why } from "./why.ts"
import { composeWorkflowRunner, type WorkflowRunnerOptions } from "./compose-runner.ts"

const parts = [annotations, changes, children, codecs, flowControl, history, hooks, nestedSteps, queries, restarts, schedules, transactions, why]

/**
 * The one class of Durable Objects that runs all workflows; an object for each instance. It has every part. Export it from the Worker and bind it as
 * `WORKFLOW_RUNNER`, or as `binding` says, with SQLite storage. Throws `BAD_OPTION` for options that are wrong.
 *
 * @example
 * export const WorkflowRunner = createWorkflowRunner({ workflows: [order] })
 */
export function createWorkflowRunner(options: WorkflowRunnerOptions): WorkflowRunnerClass {
  return composeWorkflowRunner({ ...options, parts })
}
