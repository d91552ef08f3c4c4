// Where this package and Cloudflare's local engine differ, and stay different.

import type { Difference } from "./difference.ts"

export interface KnownDifference extends Difference {
  /** The title of the program that shows it. */
  readonly program: string
  /** Only one of our hosts shows it. */
  readonly host?: "sqlite" | "objects"
}

export interface Reason {
  readonly title: string
  /** Why the difference stays, in full sentences. */
  readonly why: string
  readonly differences: readonly KnownDifference[]
}

type Triple = readonly [at: string, theirs: unknown, ours: unknown]

/** Differences of one program. */
function of(program: string, differences: readonly Triple[]): readonly KnownDifference[] {
  return differences.map(([at, theirs, ours]) => ({ program, at, theirs, ours }))
}

const plainDataAdvice = "pass plain data instead: JSON, undefined, Date, Map, Set, BigInt, RegExp, URL, typed arrays and Error can be stored"
const notNull = "Error: NOT NULL constraint failed: priority_queue.target_timestamp: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_NOTNULL)"

function invalidStream(why: string): string {
  return `WorkflowFatalError: The execution of the Workflow instance was terminated, as the step "stream" returned an invalid ReadableStream output. ${why}`
}

/** There the code catches the error. */
function endsWithoutCatch(theirMessage: string): readonly Triple[] {
  const error = 'WorkflowFatalError: The execution of the Workflow instance was terminated, as the step "bad" returned a value which is not serialisable'
  return [
    ["end.status", "complete", "errored"],
    ["end.output", "went on", null],
    ["end.error", undefined, error],
    ["notes", ["called", `went on with DataCloneError: ${theirMessage}`], ["called"]],
  ]
}

export const reasons: readonly Reason[] = [
  {
    title: "An event to an instance that has ended is refused",
    why: "Cloudflare's local engine accepts the event, and nobody ever gets it. Perdure loses nothing that it has acknowledged, so `sendEvent` throws.",
    differences: of("an event to an instance that has ended", [["sent", "accepted", "refused"]]),
  },
  {
    title: "Errors keep their names",
    why: "At Cloudflare an error goes from the callback to the engine and from the engine to the workflow over RPC. RPC keeps the names of built-in errors only: any other error becomes an `Error` whose message begins with the name. Perdure gives the code the name and the message that were thrown.",
    differences: [
      ...of("terminate with rollback undoes the steps", [
        ["notes.1", "undo b after Error: Instance terminated during rollback", "undo b after Terminated: Instance terminated during rollback"],
        ["notes.2", "undo a after Error: Instance terminated during rollback", "undo a after Terminated: Instance terminated during rollback"],
      ]),
      ...of("the name and the message of an error that the workflow catches", [
        ["caught.0.name", "Error", "StockError"],
        ["caught.0.message", "StockError: sold out", "sold out"],
        ["caught.1.name", "Error", "NonRetryableError"],
        ["caught.1.message", "NonRetryableError: no", "no"],
        ["caught.3.name", "Error", "WorkflowTimeoutError"],
        ["caught.3.message", "WorkflowTimeoutError: Execution timed out after 20ms", "Execution timed out after 20ms"],
      ]),
    ],
  },
  {
    title: "Sleeps of one name count, whatever their durations",
    why: "Cloudflare's local engine counts sleeps of one name and one duration. Two sleeps of one name that differ in their durations therefore have the same label in its events. Perdure numbers them.",
    differences: of("durations in words", [
      ["events.5", "sleep_started rest-1", "sleep_started rest-2"],
      ["events.6", "sleep_completed rest-1", "sleep_completed rest-2"],
    ]),
  },
  {
    title: "A pause does not stop the clock",
    why: "At Cloudflare a sleep goes on after the resume for as long as was left of it. Perdure keeps the time at which a sleep ends: one that ends during the pause takes effect at the resume.",
    differences: of("a pause stops the clock of a sleep", [["restOfTheSleepAfterResume", true, false]]),
  },
  {
    title: "The status tells that an instance waits or is rolled back",
    why: "Cloudflare's local engine shows `running` for both. In all other programs these statuses count as `running`.",
    differences: [
      ...of("the status of an instance that waits", [["status", "running", "waiting"]]),
      ...of("the status of an instance that is rolled back", [["status", "running", "rollingBack"]]),
    ],
  },
  {
    title: "The status tells how the rollbacks ended",
    why: "The status of Cloudflare's local engine has no `rollback`.",
    differences: of("the status tells how the rollbacks ended", [
      ["outcomes.0", "(undefined)", { outcome: "complete" }],
      ["outcomes.1", "(undefined)", { outcome: "failed", error: { name: "Error", message: "cannot be undone" } }],
    ]),
  },
  {
    title: "The event of a failed rollback has its error",
    why: "The types of Cloudflare have an error in `rollback_step_errored`. Its local engine leaves the error out when the callback has thrown.",
    differences: [
      ...of("a rollback that fails ends the rollbacks", [
        ["events.23", "rollback_step_errored b-1", "rollback_step_errored b-1 error Error: cannot be undone"],
      ]),
      ...of("a NonRetryableError ends a rollback", [["events.11", "rollback_step_errored a-1", "rollback_step_errored a-1 error NonRetryableError: never"]]),
      ...of("a rollback that takes too long fails", [
        ["events.11", "rollback_step_errored a-1", "rollback_step_errored a-1 error WorkflowTimeoutError: Execution timed out after 50ms"],
      ]),
    ],
  },
  {
    title: "A sleepUntil whose time has passed is not asked for again",
    why: "When Cloudflare's local engine runs the code again, as after a pause, it compares the time of an earlier `sleepUntil` with the clock, and the instance fails. Perdure has recorded that the sleep has ended.",
    differences: of("a sleep until a time has ended before a pause", [
      ["end.status", "errored", "complete"],
      ["end.output", null, "gone"],
      ["end.error", "Error: You can't sleep until a time in the past, time-traveler", undefined],
    ]),
  },
  {
    title: "Event ids grow over a restart",
    why: "Cloudflare's local engine begins anew with 1, so a cursor from before the restart passes over new events. In Perdure ids never repeat.",
    differences: of("event ids grow over a restart", [["grow", false, true]]),
  },
  {
    title: "step_started has no config",
    why: "The config is part of the code and not of what Perdure stores, so the events do not know it. Callbacks are given it in both.",
    differences: of("step_started tells the config of the step", [
      ["configs.0", { retries: { backoff: "exponential", delay: 1000, limit: 5 }, timeout: "5 seconds" }, "none"],
    ]),
  },
  {
    title: "Calls of bindings outside of steps are steps",
    why: "Workflow code that calls a binding outside of `step.do` calls it again whenever Cloudflare runs the code again. Perdure makes each such call a step, so that it is done once and answers the same on replay. These steps are in the events. They do not count towards the limit of steps.",
    differences: of("calls of bindings outside of steps in the events", [["steps", [], ["step_started SeenChild.status", "step_completed SeenChild.status"]]]),
  },
  {
    title: "A step inside of a step is done once",
    why: "When a step is tried again, Cloudflare's local engine counts the steps inside of it on and does them again. In Perdure they are durable like all others: the next attempt gets their results.",
    differences: of("a step inside of a step that is tried again", [
      ["end.output.0", 2, 1],
      ["notes", ["inner in attempt 1", "inner in attempt 2"], ["inner in attempt 1"]],
    ]),
  },
  {
    title: "A result that cannot be stored ends the instance",
    why: "Neither engine can store a function, and both end the instance. Perdure treats other such values alike, as no retry can help. At Cloudflare the transport already refuses symbols and instances of classes, as an error of the callback, which is tried again and can be caught. The event of the attempt says in Perdure which part of the result it is.",
    differences: [
      ...of("a function as a result", [
        [
          "events.5",
          'attempt_errored bad-1 attempt 1 error WorkflowFatalError: Value returned from step "bad" is not serialisable',
          `attempt_errored bad-1 attempt 1 error PerdureError: result is a function; ${plainDataAdvice}`,
        ],
      ]),
      ...of("an instance of a class as a result", endsWithoutCatch('Could not serialize object of type "Point". This type does not support serialization.')),
      ...of("a symbol as a result", endsWithoutCatch("Symbol(no) could not be cloned.")),
      ...of("a WeakMap inside of a result", endsWithoutCatch("#<WeakMap> could not be cloned.")),
    ],
  },
  {
    title: "Circles of references can be stored",
    why: "Cloudflare's local engine writes results into its log as JSON, which has no circles, so the instance fails.",
    differences: of("a circle of references in a result", [["status", "errored", "complete"]]),
  },
  {
    title: "The output of the status keeps its types",
    why: "The status of Cloudflare's local engine comes from a log in JSON. Perdure gives the value that the code returned.",
    differences: of("the output of the status, of values that JSON has not", [
      ["end.output.big", "[BigInt(5)]", "(bigint 5)"],
      ["end.output.bytes", "[Uint8Array(2 bytes)]", "(Uint8Array 1,2)"],
      ["end.output.date", "1970-01-01T00:00:00.000Z", "(Date 0)"],
      ["end.output.map.map", undefined, [["a", 1]]],
      ["end.output.nan", null, "(NaN)"],
      ["end.output.nothing", undefined, "(undefined)"],
    ]),
  },
  {
    title: "A stream that breaks is a failed attempt",
    why: "To Cloudflare's local engine a stream that breaks is an invalid result, which ends the instance. Perdure tries the step again, because the source may work the next time.",
    differences: of("a stream that breaks is a failed attempt", [
      ["end.status", "errored", "complete"],
      ["end.output", null, "attempt 2"],
      ["end.error", invalidStream("Failed to read from step ReadableStream output. ReadableStream received over RPC disconnected prematurely."), undefined],
      ["notes", ["attempt 1"], ["attempt 1", "attempt 2"]],
    ]),
  },
  {
    title: "A stream of something else than bytes and text has an error that says so",
    why: "Both engines end the instance. At Cloudflare the transport breaks first, and the error speaks of that.",
    differences: of("a stream of numbers", [
      [
        "end.error",
        invalidStream("Failed to read from step ReadableStream output. ReadableStream received over RPC disconnected prematurely."),
        invalidStream("A chunk of the stream is not made of bytes."),
      ],
    ]),
  },
  {
    title: "A stream has at most 8 MiB",
    why: "Perdure stores a stream as one value, and 8 MiB is the limit of a value. Cloudflare's local engine stores it in pieces, up to the limit of the instance.",
    differences: of("a stream of 9 MiB", [["status", "complete", "errored"]]),
  },
  {
    title: "The error of a sensitive step is hidden, too",
    why: "An error often holds what the step worked with. So Perdure hides it with the output; the code is given both.",
    differences: of("an error of a sensitive step is shown", [
      ["end.error", "RangeError: not hidden", "Error: [REDACTED]"],
      ["events.5", "attempt_errored secret-1 attempt 1 error RangeError: not hidden", "attempt_errored secret-1 attempt 1 error Error: [REDACTED]"],
      ["events.7", "workflow_errored error RangeError: not hidden", "workflow_errored error Error: [REDACTED]"],
    ]),
  },
  {
    title: "A step has a name",
    why: "Cloudflare's local engine takes an empty name, and shows such steps as `-1`. Perdure shows steps by their names in many places, so it refuses an empty one.",
    differences: of("an empty name of a step", [["end.output.0", { gave: "worked" }, 'PerdureError: step name "" is empty; use 1 to 256 characters']]),
  },
  {
    title: "A timeout that is given as undefined is the default",
    why: "Cloudflare's local engine fails with an error of its own there.",
    differences: of("a timeout that is given as undefined", [
      ["end.output.0", "TypeError: Cannot read properties of undefined (reading 'match')", { gave: "worked" }],
    ]),
  },
  {
    title: "Durations that are none have an error that says so",
    why: "Cloudflare's local engine does not check these durations; the errors are those of its database, or a negative time runs out at once.",
    differences: of("durations of sleeps and waits", [
      ["end.output.0", notNull, 'WorkflowFatalError: The duration of sleep "a" is not valid: give at most 365 days, such as "5 minutes"'],
      ["end.output.2", notNull, 'WorkflowFatalError: The time of sleepUntil "c" is not valid: give a Date or milliseconds since 1970'],
      ["end.output.3", notNull, 'WorkflowFatalError: The timeout of waitForEvent "d" is not valid: give milliseconds or text such as "5 minutes"'],
      [
        "end.output.4",
        "WorkflowTimeoutError: Execution timed out after -1ms",
        'WorkflowFatalError: The timeout of waitForEvent "e" is not valid: give milliseconds or text such as "5 minutes"',
      ],
    ]),
  },
  {
    title: "An object that is thrown stays what it is",
    why: "The transport of Cloudflare makes an error of everything that is thrown, and of an object only says that it was one. Perdure makes errors of texts and numbers, and lets an object keep its fields.",
    differences: of("values that are no errors are thrown", [["end.output.4", "Error: #<Object>", { name: "Odd", message: "an object" }]]),
  },
  {
    title: "Retries may be without a limit",
    why: "The events of Cloudflare's local engine may have a config with the limit `Infinity`, but its check of configs refuses that. Perdure tries again for ever.",
    differences: of("retries without a limit", [
      ["end.status", "errored", "complete"],
      ["end.output", null, [8, true]],
      [
        "end.error",
        'WorkflowFatalError: Step config for "patient" is in a invalid format. See https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/',
        undefined,
      ],
    ]),
  },
]
