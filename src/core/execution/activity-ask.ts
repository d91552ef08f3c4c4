import { durationMs } from "../time/duration.ts"
import { PerdureError } from "../errors.ts"
import { encodeValue, Payload } from "../values/value-codec.ts"
import { checkActivityOptions, type ActivityDefaults, type ActivityOptions, type AnyActivity } from "../workflow/activity.ts"
import type { Limits } from "../workflow/input-limits.ts"
import type { DoAsk } from "./ask.ts"

/** The part of a step that makes it an activity. */
export interface ActivityAsk {
  readonly name: string
  readonly input: Payload
  /** The task queue that the code names; undefined: that of the instance. */
  readonly queue: string | undefined
  readonly heartbeatMs: number | undefined
  readonly startMs: number | undefined
}

/** The name of an activity that is given as its definition or by its name. */
export function activityName(activity: AnyActivity | string): string {
  if (typeof activity === "string") return activity
  if (typeof activity === "object" && activity !== null && typeof activity.name === "string") return activity.name
  throw new PerdureError("BAD_OPTION", `an activity is given as ${typeof activity}; give what defineActivity returns, or its name`)
}

/** The step that runs an activity. Options of the call override those of the definition. */
export function activityAsk(id: string, activity: AnyActivity | string, options: ActivityOptions, limits: Limits): DoAsk {
  const name = activityName(activity)
  checkActivityOptions(name, options)
  const defaults: ActivityDefaults = typeof activity === "string" ? {} : activity.options
  const { input, ...own } = options
  const merged: ActivityDefaults = { ...defaults, ...own }
  const retry = defaults.retry || own.retry ? { maxAttempts: 3, ...defaults.retry, ...own.retry } : { maxAttempts: 1 }
  const { timeout, scheduleToCloseTimeout: deadline, sensitive } = merged
  const ms = (key: "heartbeatTimeout" | "scheduleToStartTimeout") => (merged[key] === undefined ? undefined : durationMs(merged[key]))
  const encoded = encodeValue(input, { what: `the input of activity "${name}"`, bytesMax: limits.payloadBytesMax })
  return {
    kind: "do",
    id,
    fn: onlyWithDefinition,
    options: {
      retry,
      ...(timeout === undefined ? {} : { timeout }),
      ...(deadline === undefined ? {} : { deadline }),
      ...(sensitive === undefined ? {} : { sensitive }),
    },
    activity: {
      name,
      input: Payload.of(encoded, sensitive),
      queue: merged.taskQueue,
      heartbeatMs: ms("heartbeatTimeout"),
      startMs: ms("scheduleToStartTimeout"),
    },
  }
}

function onlyWithDefinition(): never {
  throw new Error("the engine calls the function of an activity's definition")
}
