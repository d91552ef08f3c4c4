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

/** Differences of one program. */
function of(program: string, differences: readonly (readonly [at: string, theirs: unknown, ours: unknown])[]): readonly KnownDifference[] {
  return differences.map(([at, theirs, ours]) => ({ program, at, theirs, ours }))
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
    title: "The status tells how the rollbacks ended",
    why: "Cloudflare documents `rollback` in the status; its local engine does not give it yet.",
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
]
