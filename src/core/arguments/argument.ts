import { oneOf } from "./closed-list.ts"
import { durationMs, type Duration } from "../time/duration.ts"
import { PerdureError } from "../errors.ts"
import { instant } from "../time/instant.ts"
import { checkQueue, checkRequestId, checkTags, isList, lengthProblemOf, shown } from "../workflow/input-limits.ts"
import { isDefinition } from "../workflow/workflow-source.ts"

/**
 * What callers may give to the methods of a client. Callers without types give anything, and objects whose own code throws. So each object is read
 * once: what is checked is a copy, and the copy is what the method gets.
 */

/** Returns the value that the method gets. Throws an error that names the argument. */
export type Argument = (value: unknown, name: string) => unknown
export type Shape = Readonly<Record<string, Argument>>
/** Makes the arguments that a method gets of those that a caller gave. */
export type Takes = (given: readonly unknown[]) => readonly unknown[]
export type Methods = Readonly<Record<string, Takes>>

/**
 * Makes these methods check their arguments before they do anything. Most give a promise, which rejects. `atOnce`: methods that throw.
 * `following`: methods that give something to iterate over, whose first call rejects.
 */
export function checkArguments(prototype: object, promising: Methods, { atOnce = {}, following = {} }: OtherMethods = {}): void {
  const wrap = (methods: Methods, refuse: (error: Error) => unknown) => {
    for (const [name, takes] of Object.entries(methods)) {
      const method = Reflect.get(prototype, name) as (...args: readonly unknown[]) => unknown
      // A computed name, so that stacks show the name of the method.
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

/** A method whose arguments come in this order. Further arguments pass unchecked. */
export function takes(shape: Shape): Takes {
  const listed = Object.entries(shape)
  return (given) => [...listed.map(([name, argument], at) => argument(given[at], name)), ...given.slice(listed.length)]
}

export const anything: Argument = (value) => value

export function maybe(argument: Argument): Argument {
  return (value, name) => (value === undefined ? undefined : argument(value, name))
}

/** An option that null removes, as in the update of a schedule. */
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

/** Of an instance or a schedule. An address of a request resolves . and .. and has no half characters. The alphabet is checked where an id is chosen. */
export const id: Argument = (value) => {
  const problem = lengthProblemOf(value, Infinity) ?? (/^\.\.?$|\p{Surrogate}/u.test(value as string) ? "cannot be an id" : undefined)
  if (problem === undefined) return value
  throw new PerdureError("BAD_ID", `id ${shown(value)} ${problem}`, { details: { option: "id" } })
}

/** `what`: the kind of name, as in "event type". */
export function nameOf(what: string): Argument {
  return (value, name) => {
    const problem = lengthProblemOf(value, Infinity)
    if (problem === undefined) return value
    throw new PerdureError("BAD_NAME", `${what} ${shown(value)} ${problem}`, { details: { option: name } })
  }
}

/** A definition, or the name of a workflow. */
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

/** A Date becomes milliseconds: it may change later. */
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

/** A copy of the list, in which a hole is undefined. */
export function list(value: unknown, name: string): readonly unknown[] {
  const copy = attempt(() => (isList(value) ? Array.from(value) : undefined))
  if (copy) return copy
  throw badOption(name, value, "a list")
}

export function each(argument: Argument): Argument {
  return (value, name) => list(value, name).map((one, at) => argument(one, `${name}[${at}]`))
}

/** The fields that are given; undefined stands for none. Fields that the shape does not have stay as they are. */
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

/** A copy of an object, also of what these fields have from a class. */
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

/** Undefined if the value's own code throws. */
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
