import { durationMs, type Duration } from "../time/duration.ts"
import { PerdureError } from "../errors.ts"

/** What a workflow may say about how many of its instances run, and when. `In` is its input as the code sees it. */
export interface FlowOptions<In> {
  /** So many instances at a time, of the workflow or of each key. Several limits hold all at once. */
  readonly concurrency?: number | ConcurrencyLimit<In> | readonly (number | ConcurrencyLimit<In>)[]
  /** So many starts in a time, of the workflow or of each key. */
  readonly rateLimit?: RateLimit<In>
  /** Higher first among those that wait; default 0. A start may say otherwise. */
  readonly priority?: number | FlowFunction<In, number>
  /** A start waits for quiet; another one before then replaces its input. */
  readonly debounce?: Debounce<In>
  /** At most one instance, or one of each key, that has not ended. */
  readonly singleton?: boolean | Singleton<In>
}

/** How many instances may run at a time. */
export interface ConcurrencyLimit<In> {
  /** Tells it apart from the workflow's other limits, also over deploys that add some or change their order. */
  readonly name?: string
  /** How many at a time; a whole number from 1 on. */
  readonly limit: number
  /** Counts instances by what this gives of their input; default: all instances of the workflow. */
  readonly key?: FlowFunction<In, string>
  /** Keeps its slot while it sleeps or waits, and with it those of the limits before; default: gives it back. */
  readonly hold?: boolean
}

/** How many instances may start in a time. */
export interface RateLimit<In> {
  /** How many in that time; a whole number from 1 on. */
  readonly limit: number
  /** The time. */
  readonly per: Duration
  /** Counts starts by what this gives of their input; default: all starts of the workflow. */
  readonly key?: FlowFunction<In, string>
}

/** How long a start waits for another one that replaces it. */
export interface Debounce<In> {
  /** It begins when no start has come for this long. */
  readonly quiet: Duration
  /** Since the first of these starts: then it begins in any case. */
  readonly max?: Duration
  /** Starts replace each other if this gives the same of their inputs; default: all of them do. */
  readonly key?: FlowFunction<In, string>
}

/** Of which instances there is at most one at a time. */
export interface Singleton<In> {
  /** One for each text that this gives of the input; default: one of the workflow. */
  readonly key?: FlowFunction<In, string>
}

/** As a method, so that definitions of different inputs have a common type. */
export type FlowFunction<In, Out> = { of(input: In): Out }["of"]

/** Stands for no limit: more than there can be. */
export const unlimited = Number.MAX_SAFE_INTEGER

const priorityMax = 1_000
const limitsMax = 8
const namePattern = /^[A-Za-z0-9._-]{1,64}$/

export function concurrencyLimits<In>({ concurrency }: FlowOptions<In>): readonly ConcurrencyLimit<In>[] {
  if (concurrency === undefined) return []
  const limits = Array.isArray(concurrency) ? (concurrency as readonly (number | ConcurrencyLimit<In>)[]) : [concurrency as number | ConcurrencyLimit<In>]
  return limits.map((limit) => (typeof limit === "number" ? { limit } : limit))
}

/** How many of its limits an instance keeps while it sleeps or waits: those up to the last that it holds on to. */
export function keptAtRest(limits: readonly { readonly hold: boolean }[]): number {
  return limits.findLastIndex(({ hold }) => hold) + 1
}

/** Whether it says anything at all. */
export function hasFlow({ concurrency, rateLimit, priority, debounce, singleton }: FlowOptions<never>): boolean {
  return (concurrency ?? rateLimit ?? priority ?? debounce ?? singleton) !== undefined
}

/** Throws where something is not as the types say: callers without types pass anything. */
export function checkFlowOptions(workflow: string, options: FlowOptions<never>): void {
  const of = (option: string) => `${option} of workflow "${workflow}"`
  const { rateLimit, priority, debounce, singleton } = options
  const limits = concurrencyLimits(options)
  if (limits.length > limitsMax) throw bad("concurrency", `${of("concurrency")} has ${limits.length} limits; at most ${limitsMax} are possible`)
  for (const limit of limits) {
    checkKeyed("concurrency", of("concurrency"), limit)
    checkLimitNumber("concurrency", of("concurrency"), limit.limit, 1)
    if (limit.name !== undefined && (typeof limit.name !== "string" || !namePattern.test(limit.name)))
      throw bad("concurrency", `name in ${of("concurrency")} is ${JSON.stringify(limit.name)}; give 1 to 64 of A-Z a-z 0-9 . _ -`)
    if (limit.hold !== undefined && typeof limit.hold !== "boolean") throw bad("concurrency", `hold in ${of("concurrency")} must be true or false`)
  }
  const names = limits.flatMap(({ name }) => (name === undefined ? [] : [name]))
  if (new Set(names).size < names.length) throw bad("concurrency", `two limits in ${of("concurrency")} have the same name; give each one of its own`)
  if (rateLimit !== undefined) {
    checkKeyed("rateLimit", of("rateLimit"), rateLimit)
    checkRate(of("rateLimit"), rateLimit, 1)
  }
  if (priority !== undefined && typeof priority !== "function") checkPriority(of("priority"), priority)
  if (debounce !== undefined) {
    checkKeyed("debounce", of("debounce"), debounce)
    const quietMs = durationMs(debounce.quiet, `quiet in ${of("debounce")}`)
    if (quietMs === 0) throw bad("debounce", `quiet in ${of("debounce")} must be longer than nothing`)
    if (debounce.max !== undefined && durationMs(debounce.max, `max in ${of("debounce")}`) < quietMs)
      throw bad("debounce", `max in ${of("debounce")} is shorter than its quiet time; give at least ${String(debounce.quiet)}`)
  }
  if (singleton !== undefined && typeof singleton !== "boolean") checkKeyed("singleton", of("singleton"), singleton)
}

export function checkPriority(what: string, value: unknown): number {
  if (Number.isInteger(value) && Math.abs(value as number) <= priorityMax) return value as number
  throw bad("priority", `${what} is ${String(value)}; give a whole number from -${priorityMax} to ${priorityMax}`)
}

export function checkLimitNumber(option: string, what: string, value: unknown, least: number): void {
  if ((Number.isSafeInteger(value) && (value as number) >= least) || value === Infinity) return
  throw bad(option, `the limit in ${what} is ${String(value)}; give a whole number from ${least} on`)
}

export function checkRate(what: string, rate: { readonly limit: number; readonly per: Duration }, least: number): void {
  checkLimitNumber("rateLimit", what, rate.limit, least)
  if (durationMs(rate.per, `per in ${what}`) === 0) throw bad("rateLimit", `per in ${what} must be longer than nothing`)
}

/** An object, whose key is a function if it has one. */
function checkKeyed(option: string, what: string, value: { readonly key?: unknown } | null): void {
  if (typeof value !== "object" || value === null) throw bad(option, `${what} must be an object; it is ${value === null ? "null" : `of type ${typeof value}`}`)
  if (value.key !== undefined && typeof value.key !== "function") throw bad(option, `key in ${what} must be a function of the input`)
}

function bad(option: string, message: string): PerdureError {
  return new PerdureError("BAD_OPTION", message, { details: { option } })
}
