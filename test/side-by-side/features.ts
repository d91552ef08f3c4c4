import type { WorkflowSpec } from "perdure/cloudflare-workflows"
import type { Feature, Program } from "./program.ts"
import { badInput } from "./programs/bad-input.ts"
import { bindings } from "./programs/bindings.ts"
import { children } from "./programs/children.ts"
import { delays } from "./programs/delays.ts"
import { lifecycle } from "./programs/lifecycle.ts"
import { nonRetryable } from "./programs/non-retryable.ts"
import { parallel } from "./programs/parallel.ts"
import { paramsAndEvents } from "./programs/params-and-events.ts"
import { restarts } from "./programs/restarts.ts"
import { retries } from "./programs/retries.ts"
import { rollbacks } from "./programs/rollbacks.ts"
import { sleeps } from "./programs/sleeps.ts"
import { stepsAndResults } from "./programs/steps-and-results.ts"
import { streams } from "./programs/streams.ts"
import { subscriptions } from "./programs/subscriptions.ts"
import { timeouts } from "./programs/timeouts.ts"
import { values } from "./programs/values.ts"
import { waits } from "./programs/waits.ts"

export const features: readonly Feature[] = [
  stepsAndResults,
  parallel,
  values,
  streams,
  retries,
  delays,
  timeouts,
  nonRetryable,
  sleeps,
  waits,
  paramsAndEvents,
  rollbacks,
  bindings,
  children,
  lifecycle,
  restarts,
  subscriptions,
  badInput,
]

export const allPrograms: readonly Program[] = features.flatMap(({ programs }) => programs)

/** All classes by the names of their bindings, with the options of wrangler.jsonc. */
export const workflowSources: Readonly<Record<string, WorkflowSpec>> = Object.fromEntries(
  allPrograms.flatMap(({ classes, stepLimit }) =>
    Object.entries(classes).map(([name, entrypoint]): [string, WorkflowSpec] => [
      name,
      { class: entrypoint, name, ...(stepLimit === undefined ? {} : { limits: { steps: stepLimit } }) },
    ]),
  ),
)
