import { errorRecord, isErrorObject, reviveError, StoredError, type ErrorRecord } from "./error-record.ts"
import { PerdureError } from "../errors.ts"
import { RichReader } from "./rich-reader.ts"
import { bytesOf, RichWriter, Unstorable } from "./rich-writer.ts"

/**
 * Encodes values that JSON does not have, in the form of the devalue package. That form has Date, Map, Set, BigInt, RegExp, URL, typed arrays,
 * ArrayBuffer, NaN, ±Infinity, -0, undefined, sparse arrays, cycles and repeated references. Perdure adds three types:
 *
 *   ["Buffer", bytes]          a Buffer of Node; decoded as a Uint8Array on platforms without Buffer
 *   ["Error", record]          name, message, stack, own data fields, cause, errors
 *   ["PerdureError", record]   the same for an error with Perdure's brand
 */
export function stringifyRich(value: unknown): string {
  return new RichWriter(storedForm).write(value)
}

export function parseRich(text: string): unknown {
  return new RichReader(text, revivers).read()
}

const revivers = {
  Buffer: (bytes: ArrayBuffer) => buffers?.from(bytes) ?? new Uint8Array(bytes),
  Error: (record: ErrorRecord) => reviveError(record, false),
  PerdureError: (record: ErrorRecord) => reviveError(record, true),
}

/** The class Buffer, if the host has one. Core has no types of a platform. */
const buffers = (globalThis as { readonly Buffer?: { isBuffer(value: unknown): boolean; from(bytes: ArrayBuffer): Uint8Array } }).Buffer

function storedForm(value: object): { readonly type: string; readonly value: ErrorRecord | ArrayBuffer } | undefined {
  if (buffers?.isBuffer(value)) return { type: "Buffer", value: bytesOf(value as Uint8Array) }
  if (value instanceof StoredError) return { type: value.branded ? "PerdureError" : "Error", value: value.record }
  if (!isErrorObject(value)) return undefined
  return { type: PerdureError.is(value) ? "PerdureError" : "Error", value: errorRecord(value) }
}

/** The path and the message for a value that `stringifyRich` has refused. */
export function describeUnserializable(problem: unknown, what: string): { path: string; message: string } {
  if (!(problem instanceof Unstorable)) {
    const tooDeep = problem instanceof RangeError && problem.message.includes("call stack")
    const why = tooDeep ? "is nested too deeply to be stored" : `could not be read: ${String(problem)}`
    return { path: what, message: `${what} ${why}` }
  }
  const path = what + problem.path
  return { path, message: `${path} ${kindOf(problem)}` }
}

const advice = "pass plain data instead: JSON, undefined, Date, Map, Set, BigInt, RegExp, URL, typed arrays and Error can be stored"

function kindOf({ value, refusal }: Unstorable): string {
  if (typeof value === "function") return `is a function; ${advice}`
  if (typeof value === "symbol") return `is a symbol; ${advice}`
  if (refusal === "promise") return "is a promise; await it first"
  if (refusal === "protoKey") return 'has a key "__proto__", which cannot be stored; rename it'
  if (refusal === "symbolKeys") return "has symbols as keys, which cannot be stored; use strings"
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name
  return `is an instance of ${typeof name === "string" && name !== "" ? name : "a class"}; ${advice}`
}
