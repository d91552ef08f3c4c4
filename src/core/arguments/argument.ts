import { oneOf } from "./closed-list.ts"
import { durationMs, type Duration } from "../time/duration.ts"
import { PerdureError } from "../errors.ts"
import { instant } from "../time/instant.ts"
import { checkQueue, checkRequestId, checkTags, isList, lengthProblemOf, shown } from "../workflow/input-limits.ts"
import { isDefinition } from "../workflow/workflow-source.ts"

/**
 * The values that callers may give to the methods of a client. Callers without types give anything, also objects with getters that throw. So each object
 * is read once: a copy of it is checked, and the method gets the copy.
 */

/** Checks one argument. Returns the value that the method gets. Throws an error that names the argument. */
export type Argument = (value: unknown, name: string) => unknown
export type Shape = Readonly<Record<string, Argument>>
/** Checks the arguments of a call, and returns the arguments that the method gets. */
export type Takes = (given: readonly unknown[]) => readonly unknown[]
export type Methods = Readonly<Record<string, Takes>>

/**
 * Makes the methods of a class check their arguments first. The methods of `promising` return a promise, which rejects. The methods of `atOnce` throw.
 * The methods of `following` return an iterable, whose first call rejects.
 */
export function checkArguments(prototype: object, promising: Methods, { atOnce = {}, following = {} }: OtherMethods = {}): void {
  const wrap = (methods: Methods, refuse: (error: Error) => unknown) => {
    for (const [name, takes] of Object.entries(methods)) {
      const method = Reflect.get(prototype, name) as (...args: readonly unknown[]) => unknown
      // The computed property name makes stack traces show the name of the method.
      const { [name]: value } = {
        [name](this: unknown, ...given: readonly unknown[]): unknown {
          let args: readonly unknown[]
          try {
            args = takes(given)
          } catch (error) {
            return refuse(error as Error)
          }
          return Reflect.apply(method, this, args)
        },
      }
      Object.defineProperty(prototype, name, { value, writable: true, configurable: true })
    }
  }
  wrap(promising, (error) => Promise.reject(error))
  wrap(atOnce, (error) => {
    throw error
  })
  wrap(following, (error) => {
    const next = () => Promise.reject(error)
    return { [Symbol.asyncIterator]: () => ({ next, cursor: next, return: () => Promise.resolve({ done: true, value: undefined }) }) }
  })
}

interface OtherMethods {
  readonly atOnce?: Methods
  readonly following?: Methods
}

/** The check of a method whose arguments come in this order. Further arguments are not checked. */
export function takes(shape: Shape): Takes {
  const listed = Object.entries(shape)
  return (given) => [...listed.map(([name, argument], at) => argument(given[at], name)), ...given.slice(listed.length)]
}

export const anything: Argument = (value) => value

export function maybe(argument: Argument): Argument {
  return (value, name) => (value === undefined ? undefined : argument(value, name))
}

/** An option that null removes. The update of a schedule has such options. */
export function nullable(argument: Argument): Argument {
  return (value, name) => (value === undefined || value === null ? value : argument(value, name))
}

export const text: Argument = (value, name) => {
  if (typeof value === "string") return value
  throw badOption(name, value, "a string")
}

export const flag: Argument = (value, name) => {
  if (typeof value === "boolean") return value
  throw badOption(name, value, "true or false")
}

export const number: Argument = (value, name) => {
  if (typeof value === "number" && !Number.isNaN(value)) return value
  throw badOption(name, value, "a number")
}

export function whole(least: number, most = Infinity): Argument {
  return (value, name) => {
    if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return value
    throw badOption(name, value, `a whole number from ${least} ${most === Infinity ? "on" : `to ${most}`}`)
  }
}

export function word(words: readonly string[]): Argument {
  return (value, name) => oneOf(name, value, words)
}

/**
 * The id of an instance or a schedule. A URL cannot have `.` and `..` as a part, nor half of a surrogate pair. The letters of an id are checked where the
 * instance is created.
 */
export const id: Argument = (value) => {
  const problem = lengthProblemOf(value, Infinity) ?? (/^\.\.?$|\p{Surrogate}/u.test(value as string) ? "cannot be an id" : undefined)
  if (problem === undefined) return value
  throw new PerdureError("BAD_ID", `id ${shown(value)} ${problem}`, { details: { option: "id" } })
}

/** A name that is not empty. `what` is the kind of name, such as "event type". */
export function nameOf(what: string): Argument {
  return (value, name) => {
    const problem = lengthProblemOf(value, Infinity)
    if (problem === undefined) return value
    throw new PerdureError("BAD_NAME", `${what} ${shown(value)} ${problem}`, { details: { option: name } })
  }
}

/** The definition of a workflow, or its name. */
export const workflow: Argument = (value, name) => {
  if (typeof value === "string") return nameOf("workflow name")(value, name)
  if (attempt(() => isDefinition(value)) === true) return value
  throw badOption(name, value, "what workflow(…) gives, or the name of a workflow")
}

export const queue: Argument = (value) => {
  checkQueue(value as string)
  return value
}

export const requestId: Argument = (value) => checkRequestId(value as string)

export const tags: Argument = (value, name) => checkTags(list(value, name) as readonly string[])

export const duration: Argument = (value, name) => {
  durationMs(value as Duration, name)
  return value
}

/** A Date becomes a number of milliseconds, because the caller may change the Date later. */
export const time: Argument = (value, name) => {
  const at = instant(value as Date, name)
  return typeof value === "object" ? at : value
}

export const abortSignal: Argument = (value, name) => {
  const isSignal = attempt(() => {
    const { aborted, addEventListener } = value as { readonly aborted?: unknown; readonly addEventListener?: unknown }
    return typeof aborted === "boolean" && typeof addEventListener === "function"
  })
  if (isSignal === true) return value
  throw badOption(name, value, "an AbortSignal")
}

/** Returns a copy of the list, in which a hole is undefined. */
export function list(value: unknown, name: string): readonly unknown[] {
  const copy = attempt(() => (isList(value) ? Array.from(value) : undefined))
  if (copy) return copy
  throw badOption(name, value, "a list")
}

export function each(argument: Argument): Argument {
  return (value, name) => list(value, name).map((one, at) => argument(one, `${name}[${at}]`))
}

/** An object with these fields. Undefined stands for an object without fields. Fields that the shape does not have are copied unchecked. */
export function fields(shape: Shape): Argument {
  return (value, name) => {
    const copy = record(value === undefined ? {} : value, name, Object.keys(shape))
    for (const [key, argument] of Object.entries(shape)) {
      const read = argument(copy[key], key)
      if (read !== undefined) copy[key] = read
    }
    return copy
  }
}

/** Returns a copy of an object. The fields in `keys` are copied also if the object inherits them. */
export function record(value: unknown, name: string, keys: readonly string[] = []): Record<string, unknown> {
  const copy = attempt(() => {
    if (typeof value !== "object" || value === null || isList(value)) return undefined
    const own: Record<string, unknown> = { ...value }
    for (const key of keys) if (!(key in own) && key in value) own[key] = Reflect.get(value, key)
    return own
  })
  if (copy) return copy
  throw badOption(name, value, "an object whose fields can be read")
}

/** Returns undefined if code of the value throws, such as a getter. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

export function badOption(option: string, value: unknown, accepted: string): PerdureError {
  return new PerdureError("BAD_OPTION", `${option} is ${shown(value)}; give ${accepted}`, { details: { option } })
}
