import { bareRecord, fieldsOf, isErrorObject, StoredError, type ErrorRecord } from "./error-record.ts"
import { textOf } from "./error-text.ts"
import { PerdureError } from "../errors.ts"
import { stringifyRich } from "./rich-codec.ts"

/**
 * Reduces a thrown value to a part that can be stored. A failure has to reach the journal even if its error refers to sockets, requests, functions, or
 * getters that throw.
 */

/** Leaves out members that cannot be stored. A thrown value that is not an error becomes an Error with its text. */
export function storableError(thrown: unknown): StoredError {
  if (typeof thrown === "object" && thrown !== null && isErrorObject(thrown)) return storeError(thrown, new Map(), 0)
  return new StoredError({ name: "Error", message: textOf(thrown) }, false)
}

const textLengthMax = 16 * 1024

/** Keeps only name, message and stack, also for an error that is too large. */
export function bareError(thrown: unknown): StoredError {
  try {
    if (typeof thrown === "object" && thrown !== null && isErrorObject(thrown)) {
      const { name, message, stack } = bareRecord(thrown)
      const record: ErrorRecord = { name: cut(name), message: cut(message) }
      if (stack !== undefined) record.stack = cut(stack)
      const code = (thrown as { code?: unknown }).code
      if (typeof code === "string" || typeof code === "number") record["code"] = typeof code === "string" ? cut(code) : code
      return new StoredError(record, PerdureError.is(thrown))
    }
    return new StoredError({ name: "Error", message: cut(textOf(thrown)) }, false)
  } catch {
    return new StoredError({ name: "Error", message: "an error that could not be read" }, false)
  }
}

function cut(text: string): string {
  return text.length > textLengthMax ? `${text.slice(0, textLengthMax)}…` : text
}

const depthMax = 100
const omitted = Symbol("omitted")

function storeError(error: Error, seen: Map<object, unknown>, depth: number): StoredError {
  const stored = new StoredError(bareRecord(error), PerdureError.is(error))
  seen.set(error, stored)
  copyMembers(error, fieldsOf(error), stored.record, seen, depth)
  return stored
}

function storable(value: unknown, seen: Map<object, unknown>, depth: number): unknown {
  if (typeof value === "function" || typeof value === "symbol" || depth > depthMax) return omitted
  if (typeof value !== "object" || value === null) return value
  const before = seen.get(value)
  if (before !== undefined) return before
  if (isErrorObject(value)) return storeError(value, seen, depth)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) {
    const copy = {}
    seen.set(value, copy)
    copyMembers(value, Object.keys(value), copy, seen, depth)
    return copy
  }
  if (prototype === Array.prototype) {
    const copy: unknown[] = []
    seen.set(value, copy)
    for (const member of value as unknown[]) {
      const kept = storable(member, seen, depth + 1)
      copy.push(kept === omitted ? undefined : kept)
    }
    return copy
  }
  stringifyRich(value)
  return value
}

function copyMembers(from: object, keys: readonly string[], to: object, seen: Map<object, unknown>, depth: number): void {
  for (const key of keys) {
    if (key === "__proto__") continue
    try {
      const kept = storable((from as Record<string, unknown>)[key], seen, depth + 1)
      if (kept !== omitted) (to as Record<string, unknown>)[key] = kept
    } catch {
      // The member has a getter that throws, or a value that cannot be stored, so it is left out.
    }
  }
}
