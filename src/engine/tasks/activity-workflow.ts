import type { ActivityOptions } from "../../core/workflow/activity.ts"
import { workflow } from "../../core/workflow/workflow.ts"

/** The input of the built-in workflow that runs one activity. */
export interface SingleActivity {
  readonly activity: string
  readonly options: ActivityOptions
}

/** The built-in workflow behind an activity that is started without a workflow: an ordinary instance, with one activity. */
export const activityWorkflow = workflow("perdure.activity", (ctx, { activity, options }: SingleActivity) => ctx.activity(activity, options))
