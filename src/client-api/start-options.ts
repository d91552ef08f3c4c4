import type { Duration } from "../core/time/duration.ts"
import type { PerdureError } from "../core/errors.ts"
import type { TransactionClient } from "../core/workflow/transaction-sql.ts"
import type { AnyWorkflow, EventMap, InputOf, SentOf } from "../core/workflow/workflow.ts"

/** Options of `start`. `In` is the input of the workflow. */
export interface StartOptions<In> {
  /** Unique in the store. 1 to 256 letters, digits and `. _ : @ - ~ = ,`; it begins with a letter, a digit or `_`. Default: a random one. */
  readonly id?: string
  /** What the code of the workflow is given. It is checked by the schema of the workflow, if that has one. */
  readonly input?: In
  /** By name: which version; default: the last registered. A definition starts its own version. */
  readonly version?: string
  /**
   * By name and version: also one that nobody knows yet. The instance then waits for a worker that has it. Otherwise a start is refused
   * (`UNKNOWN_WORKFLOW`) if this engine has no such code, no running worker offers it, and the store has no instance of it.
   */
  readonly allowUnknown?: boolean
  /**
   * What happens if the id is taken, or the singleton exists. `"error"`, the default: `ID_EXISTS` or `SINGLETON_EXISTS`. `"return"`: the handle of
   * the singleton, or of the instance with that id; the latter only if its workflow and input are the same, else `ID_CONFLICT`.
   */
  readonly ifExists?: "error" | "return"
  /** Starts the code after this time; until then the instance is `queued`. Default: at once. Not together with `startAt`. */
  readonly delay?: Duration
  /** Starts the code at this time: a Date, milliseconds since 1970 or ISO 8601 text. A time in the past: at once. Not together with `delay`. */
  readonly startAt?: Date | number | string
  /** How long the whole instance may take: after that it is cancelled, and ends as failed (`INSTANCE_TIMEOUT`). Default: what the workflow says, else none. */
  readonly timeout?: Duration
  /** Higher first among those that wait; default: what the workflow says, else 0. */
  readonly priority?: number
  /** Texts to find the instance by in `list`: at most 32, of at most 128 characters each. Default: none. */
  readonly tags?: readonly string[]
  /** Only workers that serve this queue execute it; default: what the workflow says, else `"default"`. */
  readonly taskQueue?: string
  /** Names this start: sent again with the same one, it is the same start, also where an id that exists is an error. Random, 16 to 64 letters, digits, `_` and `-`. */
  readonly requestId?: string
  /** On PostgreSQL: a client with a transaction of yours open on it. If that is rolled back, nothing was ever started. */
  readonly transaction?: TransactionClient
}

/** Input may be left out where the workflow takes none. `More`: what a client takes beside. */
export type StartArguments<In, More = unknown> = undefined extends In
  ? [options?: StartOptions<In> & More]
  : [In] extends [void]
    ? [options?: StartOptions<In> & More]
    : [options: StartOptions<In> & { readonly input: In } & More]
/** The same, of a workflow or of one that is only named. */
export type StartArgumentsOf<W extends AnyWorkflow | string, More = unknown> = W extends AnyWorkflow
  ? StartArguments<InputOf<W>, More>
  : [options?: StartOptions<unknown> & More]

/** One start of `startBatch`: the options of `start`, and what to start. The transaction is that of the whole batch. */
export interface BatchItem extends Omit<StartOptions<unknown>, "transaction"> {
  /** The definition of the workflow, or its name. */
  readonly workflow: AnyWorkflow | string
}

/** One item of a batch, with the input that its workflow takes; of several workflows at once nothing is known of it. */
type BatchItemOf<W> = [W] extends [AnyWorkflow]
  ? { readonly workflow: W } & Omit<StartArgumentsFirst<InputOf<W>>, "transaction">
  : BatchItem & { readonly workflow: W }
type StartArgumentsFirst<In> = NonNullable<StartArguments<In>[0]>
/** The items of a batch, each with the input of its own workflow. */
export type BatchItemsOf<Ws extends readonly (AnyWorkflow | string)[]> = { readonly [K in keyof Ws]: BatchItemOf<Ws[K]> }

/** Options of `startBatch`, for all of its items. */
export interface BatchOptions {
  /** On PostgreSQL: a client with a transaction of yours open on it. If that is rolled back, nothing was ever started. */
  readonly transaction?: TransactionClient
}

/** What became of one item of a batch. */
export type BatchResult =
  | {
      /** The id of the instance; empty where the item was refused and named none. */
      readonly id: string
      /** True: the instance is there, newly started or as `ifExists: "return"` allows. False: `error` says why not. */
      readonly created: true
    }
  | {
      readonly id: string
      readonly created: false
      /** Why this item was not started, such as `ID_EXISTS` or `INVALID_INPUT`. */
      readonly error: PerdureError
    }

/** Options of `sendOrStart`: those of a start, for an instance that is not there, and the event. */
export type SendOrStartOptions<In, Sent, K extends keyof Sent> = Omit<StartOptions<In>, "id" | "ifExists" | "delay" | "startAt" | "requestId"> & {
  /** The instance that gets the event, and that is started under this id where there is none. */
  readonly id: string
  /** The type of the event. */
  readonly event: K
  /** What the event carries. */
  readonly payload: Sent[K]
  /** An event sent twice with the same id is received once. Default: none, so that each call sends an event of its own. */
  readonly eventId?: string
} & ([In] extends [void] ? unknown : { readonly input: In })

/** The same, of a workflow or of one that is only named: the payload is that of the event. */
export type SendOrStartOptionsOf<W extends AnyWorkflow | string> = W extends AnyWorkflow
  ? { [K in keyof SentOf<W> & string]: SendOrStartOptions<InputOf<W>, SentOf<W>, K> }[keyof SentOf<W> & string]
  : SendOrStartOptions<unknown, EventMap, string>
