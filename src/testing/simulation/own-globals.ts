import { SeededRandom } from "../../core/execution/seeded-random.ts"
import type { Host, Scope } from "../../ports/host.ts"

/**
 * Replaces the platform's clock and random numbers for the code of simulated runs. In steps, time is virtual and random numbers are seeded by the
 * step, so recorded values are equal in all runs. In workflow code outside steps, both differ in every execution, as they do in production:
 * everything that depends on them shows as a difference. All other code in the process uses the platform's own functions.
 */
export class OwnGlobals {
  readonly #host: Host
  readonly #seed: string
  readonly #sources = new WeakMap<Scope, Source>()
  readonly #executions = new Map<string, number>()
  readonly #calls = new Map<string, string>()

  constructor(host: Host, seed: string) {
    this.#host = host
    this.#seed = seed
  }

  /** The functions that workflow code called outside steps, each with the place of its first call. */
  get calls(): ReadonlyMap<string, string> {
    return this.#calls
  }

  /** Undefined: the calling code does not belong to this simulation. */
  time(what: string): number | undefined {
    const source = this.#source(what)
    return source && this.#host.now() + source.skewMs
  }

  random(what: string): SeededRandom | undefined {
    return this.#source(what)?.random
  }

  #source(what: string): Source | undefined {
    const scope = this.#host.currentScope()
    if (!scope) return undefined
    if (scope.step === undefined && !this.#calls.has(what)) this.#calls.set(what, callPlace())
    let source = this.#sources.get(scope)
    if (!source) this.#sources.set(scope, (source = this.#newSource(scope)))
    return source
  }

  #newSource({ instance, step }: Scope): Source {
    if (step !== undefined) return { random: new SeededRandom(`${instance} ${step}`), skewMs: 0 }
    const execution = this.#executions.get(instance) ?? 0
    this.#executions.set(instance, execution + 1)
    const random = new SeededRandom(`${this.#seed} ${instance} ${execution}`)
    return { random, skewMs: execution === 0 ? 0 : execution * dayMs + Math.floor(random.next() * dayMs) }
  }

  /** Replaces the functions until the returned function is called. */
  install(): () => void {
    active.add(this)
    if (active.size === 1) restore = replaceGlobals()
    return () => {
      active.delete(this)
      if (active.size === 0) restore()
    }
  }
}

interface Source {
  readonly random: SeededRandom
  readonly skewMs: number
}

const dayMs = 86_400_000
const active = new Set<OwnGlobals>()
let restore: () => void = () => undefined

function firstOf<T>(ask: (globals: OwnGlobals) => T | undefined): T | undefined {
  for (const globals of active) {
    const answer = ask(globals)
    if (answer !== undefined) return answer
  }
  return undefined
}

interface Globals {
  Date: DateConstructor
  readonly Math: Math
  readonly performance?: { now(): number }
  readonly crypto?: { randomUUID?(): string }
}

function replaceGlobals(): () => void {
  const globals = globalThis as unknown as Globals
  const { Date: PlatformDate } = globals
  const time = (what: string) => firstOf((own) => own.time(what))
  globals.Date = new Proxy(PlatformDate, {
    construct: (target, args: unknown[], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [time("new Date()") ?? target.now()] : args, newTarget) as object,
    get: (target, name) => (name === "now" ? () => time("Date.now()") ?? target.now() : (Reflect.get(target, name) as unknown)),
  })
  const undo = [
    replace(globals.Math, "random", (own) => () => firstOf((one) => one.random("Math.random()"))?.next() ?? own()),
    replace(globals.performance, "now", (own) => () => time("performance.now()") ?? own()),
    replace(globals.crypto, "randomUUID", (own) => () => firstOf((one) => one.random("crypto.randomUUID()"))?.uuid() ?? own()),
  ]
  return () => {
    globals.Date = PlatformDate
    for (const one of undo) one()
  }
}

/** Replaces a method, and returns a function that restores it. */
function replace<T extends object, K extends keyof T>(object: T | undefined, name: K, make: (own: () => never) => () => unknown): () => void {
  const own = object?.[name]
  if (object === undefined || typeof own !== "function") return () => undefined
  const isOwn = Object.hasOwn(object, name)
  Object.defineProperty(object, name, { configurable: true, writable: true, value: make(() => Reflect.apply(own, object, []) as never) })
  return () => {
    if (isOwn) Object.defineProperty(object, name, { configurable: true, writable: true, value: own })
    else Reflect.deleteProperty(object, name)
  }
}

/** The first line of the stack outside this file. */
function callPlace(): string {
  const lines = new Error().stack?.split("\n").slice(1) ?? []
  const line = lines.find((text) => !text.includes("own-globals") && !text.includes("Object.construct"))
  return /\((.*)\)/.exec(line ?? "")?.[1] ?? line?.trim().replace(/^at (async )?/, "") ?? "somewhere"
}
