import { durationMs, type Duration } from "../time/duration.ts"
import { PerdureError } from "../errors.ts"

/** The options of a workflow's flow control: how many of its instances run, and when. `In` is the input as the code sees it. */
export interface FlowOptions<In> {
  /** How many instances may run at a time, of the workflow or of each key. Of several limits, all apply. */
  readonly concurrency?: number | ConcurrencyLimit<In> | readonly (number | ConcurrencyLimit<In>)[]
  /** How many instances may start in a period, of the workflow or of each key. */
  readonly rateLimit?: RateLimit<In>
  /** The priority among waiting instances, higher first. Default 0. A start may give another one. */
  readonly priority?: number | FlowFunction<In, number>
  /** A start waits until no other start has come for a while; another start before then replaces its input. */
  readonly debounce?: Debounce<In>
  /** Allows at most one instance that has not ended, of the workflow or of each key. */
  readonly singleton?: boolean | Singleton<In>
}

/** How many instances may run at a time. */
export interface ConcurrencyLimit<In> {
  /** Identifies the limit among those of the workflow, also after a deploy that adds limits or changes their order. */
  readonly name?: string
  /** The number of instances at a time; a whole number from 1 on. */
  readonly limit: number
  /** The function from an input to the key by which instances are counted. Default: all instances of the workflow count together. */
  readonly key?: FlowFunction<In, string>
  /** The instance keeps the slot while it sleeps or waits, and also the slots of the limits before. Default: it releases them. */
  readonly hold?: boolean
}

/** How many instances may start in a time. */
export interface RateLimit<In> {
  /** The number of starts in the period; a whole number from 1 on. */
  readonly limit: number
  /** The period. */
  readonly per: Duration
  /** The function from an input to the key by which starts are counted. Default: all starts of the workflow count together. */
  readonly key?: FlowFunction<In, string>
}

/** How long a start waits for another one that replaces it. */
export interface Debounce<In> {
  /** The instance starts when no other start has come for this long. */
  readonly quiet: Duration
  /** The instance starts at the latest this long after the first of these starts. */
  readonly max?: Duration
  /** The function from an input to a key. Starts with the same key replace each other. Default: all starts of the workflow do. */
  readonly key?: FlowFunction<In, string>
}

/** Which instances exclude each other. */
export interface Singleton<In> {
  /** The function from an input to a key; at most one instance has each key. Default: one instance of the workflow. */
  readonly key?: FlowFunction<In, string>
}

/** A function type that TypeScript compares like a method, so that definitions with different inputs have a common type. */
export type FlowFunction<In, Out> = { of(input: In): Out }["of"]

/** A number that stands for "no limit". */
export const unlimited = Number.MAX_SAFE_INTEGER

const priorityMax = 1_000
const limitsMax = 8
const namePattern = /^[A-Za-z0-9._-]{1,64}$/

export function concurrencyLimits<In>({ concurrency }: FlowOptions<In>): readonly ConcurrencyLimit<In>[] {
  if (concurrency === undefined) return []
  const limits = Array.isArray(concurrency) ? (concurrency as readonly (number | ConcurrencyLimit<In>)[]) : [concurrency as number | ConcurrencyLimit<In>]
  return limits.map((limit) => (typeof limit === "number" ? { limit } : limit))
}

/** How many slots an instance keeps while it sleeps or waits: those up to its last limit with `hold`. */
export function keptAtRest(limits: readonly { readonly hold: boolean }[]): number {
  return limits.findLastIndex(({ hold }) => hold) + 1
}

/** Whether the workflow has any option of flow control. */
export function hasFlow({ concurrency, rateLimit, priority, debounce, singleton }: FlowOptions<never>): boolean {
  return (concurrency ?? rateLimit ?? priority ?? debounce ?? singleton) !== undefined
}

/** Throws if an option does not have its declared type: callers without types may pass anything. */
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

/** Checks that a value is an object, and that its `key`, if there is one, is a function. */
function checkKeyed(option: string, what: string, value: { readonly key?: unknown } | null): void {
  if (typeof value !== "object" || value === null) throw bad(option, `${what} must be an object; it is ${value === null ? "null" : `of type ${typeof value}`}`)
  if (value.key !== undefined && typeof value.key !== "function") throw bad(option, `key in ${what} must be a function of the input`)
}

function bad(option: string, message: string): PerdureError {
  return new PerdureError("BAD_OPTION", message, { details: { option } })
}
