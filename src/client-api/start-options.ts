import type { Duration } from "../core/time/duration.ts"
import type { PerdureError } from "../core/errors.ts"
import type { TransactionClient } from "../core/workflow/transaction-sql.ts"
import type { Retention } from "../core/workflow/retention.ts"
import type { AnyWorkflow, EventMap, InputOf, SentOf } from "../core/workflow/workflow.ts"

/** Options of `start`. `In` is the input of the workflow. */
export interface StartOptions<In> {
  /** The id of the instance, unique in the store. 1 to 256 letters, digits and `. _ : @ - ~ = ,`; it begins with a letter, a digit or `_`. Default: random. */
  readonly id?: string
  /** The input of the workflow. The schema of the workflow checks it, if there is one. */
  readonly input?: In
  /** The version, for a start by name. Default: the last registered one. A definition starts its own version. */
  readonly version?: string
  /**
   * Allows a start by name of an unknown workflow or version: the instance waits for a worker that has it. Default: such a start is refused
   * (`UNKNOWN_WORKFLOW`) if this engine has no such code, no running worker offers it, and the store has no instance of it.
   */
  readonly allowUnknown?: boolean
  /**
   * What happens if the id is taken, or if the singleton exists. `"error"`, the default: `ID_EXISTS` or `SINGLETON_EXISTS`. `"return"`: `start` returns the
   * handle of the singleton, or of the instance with that id. The existing instance must have the same workflow and input, else `ID_CONFLICT`.
   */
  readonly ifExists?: "error" | "return"
  /** The code starts after this time. Until then the instance is `queued`. Default: at once. Not together with `startAt`. */
  readonly delay?: Duration
  /** The code starts at this time: a Date, milliseconds since 1970 or ISO 8601 text. A past time means at once. Not together with `delay`. */
  readonly startAt?: Date | number | string
  /** How long the instance may take. Then it is cancelled, and ends as failed (`INSTANCE_TIMEOUT`). Default: the timeout of the workflow, else none. */
  readonly timeout?: Duration
  /** Among waiting instances, a higher priority comes first. Default: the priority of the workflow, else 0. */
  readonly priority?: number
  /** Tags that `list` can filter by: at most 32, of at most 128 characters each. Default: none. */
  readonly tags?: readonly string[]
  /** The task queue. Only workers that serve it execute the instance. Default: the task queue of the workflow, else `"default"`. */
  readonly taskQueue?: string
  /** How long the instance is kept when it has ended. Default: the retention of the workflow, else for ever. */
  readonly retention?: Retention
  /** Identifies this request: a start that is sent again with the same `requestId` returns the same instance. Random, 16 to 64 letters, digits, `_` and `-`. */
  readonly requestId?: string
  /** On PostgreSQL: a client on which your transaction is open. The instance is started if your transaction is committed. */
  readonly transaction?: TransactionClient
}

/** The input may be left out if the workflow takes none. `More` are further options of a client. */
export type StartArguments<In, More = unknown> = undefined extends In
  ? [options?: StartOptions<In> & More]
  : [In] extends [void]
    ? [options?: StartOptions<In> & More]
    : [options: StartOptions<In> & { readonly input: In } & More]
/** The arguments for a workflow that is given as its definition or by its name. */
export type StartArgumentsOf<W extends AnyWorkflow | string, More = unknown> = W extends AnyWorkflow
  ? StartArguments<InputOf<W>, More>
  : [options?: StartOptions<unknown> & More]

/** One item of `startBatch`: the options of `start`, and the workflow. A transaction is an option of the whole batch. */
export interface BatchItem extends Omit<StartOptions<unknown>, "transaction"> {
  /** The definition of the workflow, or its name. */
  readonly workflow: AnyWorkflow | string
}

/** One item of a batch with the input of its workflow. The input is `unknown` for a union of workflows. */
type BatchItemOf<W> = [W] extends [AnyWorkflow]
  ? { readonly workflow: W } & Omit<StartArgumentsFirst<InputOf<W>>, "transaction">
  : BatchItem & { readonly workflow: W }
type StartArgumentsFirst<In> = NonNullable<StartArguments<In>[0]>
/** The items of a batch, each with the input of its own workflow. */
export type BatchItemsOf<Ws extends readonly (AnyWorkflow | string)[]> = { readonly [K in keyof Ws]: BatchItemOf<Ws[K]> }

/** Options of `startBatch`, for all of its items. */
export interface BatchOptions {
  /** On PostgreSQL: a client on which your transaction is open. The instance is started if your transaction is committed. */
  readonly transaction?: TransactionClient
}

/** The outcome of one item of a batch. */
export type BatchResult =
  | {
      /** The id of the instance. Empty if the item was refused and has no id. */
      readonly id: string
      /** True if the instance exists: newly started, or found by `ifExists: "return"`. */
      readonly created: true
    }
  | {
      readonly id: string
      readonly created: false
      /** Why this item was not started, such as `ID_EXISTS` or `INVALID_INPUT`. */
      readonly error: PerdureError
    }

/** Options of `sendOrStart`: the event, and the options of a start if the instance does not exist. */
export type SendOrStartOptions<In, Sent, K extends keyof Sent> = Omit<StartOptions<In>, "id" | "ifExists" | "delay" | "startAt" | "requestId"> & {
  /** The id of the instance that gets the event. It is started under this id if it does not exist. */
  readonly id: string
  /** The type of the event. */
  readonly event: K
  /** The payload of the event. */
  readonly payload: Sent[K]
  /** The instance receives an event once, even if it is sent again with the same id. Default: each call sends an event of its own. */
  readonly eventId?: string
} & ([In] extends [void] ? unknown : { readonly input: In })

/** The options for a workflow that is given as its definition or by its name, with the payload of the event. */
export type SendOrStartOptionsOf<W extends AnyWorkflow | string> = W extends AnyWorkflow
  ? { [K in keyof SentOf<W> & string]: SendOrStartOptions<InputOf<W>, SentOf<W>, K> }[keyof SentOf<W> & string]
  : SendOrStartOptions<unknown, EventMap, string>
