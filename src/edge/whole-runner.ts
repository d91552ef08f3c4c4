import type { WorkflowRunnerClass } from "../hosts/cloudflare/workflow-runner.ts"
import { changes } from "./changes.ts"
import { codecs } from "./codecs.ts"
import { flowControl } from "./flow-control.ts"
import { queries } from "./queries.ts"
import { schedules } from "./schedules.ts"
import { transactions } from "./transactions.ts"
import { why } from "./why.ts"
import { composeWorkflowRunner, type WorkflowRunnerOptions } from "./workflow-runner.ts"

const parts = [changes, codecs, flowControl, queries, schedules, transactions, why]

/** The one class of Durable Objects that runs all workflows; an object for each instance. It has every part. */
export function createWorkflowRunner(options: WorkflowRunnerOptions): WorkflowRunnerClass {
  return composeWorkflowRunner({ ...options, parts })
}
