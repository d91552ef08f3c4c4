import { DevalueError, parse, stringify, type StringifyOperations } from "devalue"
import { errorRecord, isErrorObject, reviveError, StoredError, type ErrorRecord } from "./error-record.ts"
import { PerdureError } from "./errors.ts"

/**
 * Values that JSON does not have, through devalue: it knows Date, Map, Set, BigInt, RegExp, URL, typed arrays, ArrayBuffer,
 * NaN, ±Infinity, -0, undefined, sparse arrays, cycles and repeated references. Two types are ours:
 *
 *   ["Error", record]          name, message, stack, own data fields, cause, errors
 *   ["PerdureError", record]   the same, of an error with Perdure's brand
 */
export function stringifyRich(value: unknown): string {
  return stringify(value, reducers, { operations })
}

export function parseRich(text: string): unknown {
  return parse(text, revivers) as unknown
}

const reducers = {
  Error: (value: unknown) => recordOf(value, false),
  PerdureError: (value: unknown) => recordOf(value, true),
}

const revivers = {
  Error: (record: ErrorRecord) => reviveError(record, false),
  PerdureError: (record: ErrorRecord) => reviveError(record, true),
}

function recordOf(value: unknown, branded: boolean): ErrorRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined
  if (value instanceof StoredError) return value.branded === branded ? value.record : undefined
  return isErrorObject(value) && PerdureError.is(value) === branded ? errorRecord(value) : undefined
}

/** How many prototypes a genuine one has: an instance of a subclass has more, and would come back as something else. */
const prototypes = new Map([
  ["Array", 2],
  ["ArrayBuffer", 2],
  ["Date", 2],
  ["Map", 2],
  ["RegExp", 2],
  ["Set", 2],
  ["URL", 2],
  ["URLSearchParams", 2],
])

const operations: Partial<StringifyOperations> = {
  tagOf: (value: object) => {
    const tag = Object.prototype.toString.call(value).slice(8, -1)
    const count = prototypes.get(tag)
    return count === undefined || prototypeCount(value) === count ? tag : "Object"
  },

  // Only the bytes that the view shows: the rest of its buffer may be large, or somebody else's (Node pools Buffers).
  viewInfo: (view: ArrayBufferView & { readonly length?: number }) => {
    const { byteLength, buffer } = view
    const whole = byteLength === buffer.byteLength && buffer instanceof ArrayBuffer
    const bytes = whole ? buffer : new Uint8Array(new Uint8Array(buffer, view.byteOffset, byteLength)).buffer
    return { buffer: bytes, byteOffset: 0, byteLength, length: view.length ?? byteLength, bufferByteLength: byteLength }
  },
}

function prototypeCount(value: object): number {
  let count = 0
  for (let at: unknown = Object.getPrototypeOf(value); at !== null; at = Object.getPrototypeOf(at)) count++
  return count
}

/** What to tell the user about a value that `stringifyRich` refused. */
export function describeUnserializable(problem: unknown, what: string): { path: string; message: string } {
  if (!(problem instanceof DevalueError)) {
    const tooDeep = problem instanceof RangeError && problem.message.includes("call stack")
    const why = tooDeep ? "is nested too deeply to be stored" : `could not be read: ${String(problem)}`
    return { path: what, message: `${what} ${why}` }
  }
  const path = what + problem.path
  return { path, message: `${path} ${kindOf(problem.value, problem.message)}` }
}

const advice = "pass plain data instead: JSON, undefined, Date, Map, Set, BigInt, RegExp, URL, typed arrays and Error can be stored"

function kindOf(value: unknown, message: string): string {
  if (typeof value === "function") return `is a function; ${advice}`
  if (typeof value === "symbol") return `is a symbol; ${advice}`
  if (typeof value !== "object" || value === null) return `cannot be stored; ${advice}`
  if (message.includes("thenable")) return "is a promise; await it first"
  if (message.includes("__proto__")) return 'has a key "__proto__", which cannot be stored; rename it'
  if (message.includes("symbolic keys")) return "has symbols as keys, which cannot be stored; use strings"
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name
  return `is an instance of ${typeof name === "string" && name !== "" ? name : "a class"}; ${advice}`
}
