import {
  CancelledError,
  ChildFailedError,
  EventTimeoutError,
  NonRetryableError,
  PerdureError,
  ResultTimeoutError,
  StepFailedError,
  TerminatedError,
  type ErrorCode,
} from "../errors.ts"

/**
 * Turns errors into plain records and back. A built-in error comes back as its class, a Perdure error with its brand and class, and any other error as
 * an `Error` that has its name.
 */
export type ErrorRecord = { name: string; message: string; stack?: string; [field: string]: unknown }

/** An error that is already a record, in place of an error that cannot be stored. */
export class StoredError {
  readonly record: ErrorRecord
  readonly branded: boolean

  constructor(record: ErrorRecord, branded: boolean) {
    this.record = record
    this.branded = branded
  }
}

/** Whether the object is an error, also one of another realm, and a DOMException on platforms where that is not an Error. */
export function isErrorObject(value: object): value is Error {
  if (value instanceof Error) return true
  const tag = Object.prototype.toString.call(value)
  return tag === "[object Error]" || tag === "[object DOMException]"
}

const special = new Set(["name", "message", "stack", "cause", "errors", "__proto__"])

/** The record of an error. Name and message come first: in a cycle, the error is revived before the rest of its record is read. */
export function errorRecord(error: Error): ErrorRecord {
  const record = bareRecord(error)
  for (const key of fieldsOf(error)) record[key] = (error as unknown as Record<string, unknown>)[key]
  return record
}

/** The fields that the record of an error has beside those of the bare record. */
export function fieldsOf(error: Error): string[] {
  const fields = Object.keys(error).filter((key) => !special.has(key))
  if ("cause" in error) fields.push("cause")
  if ("errors" in error) fields.push("errors")
  return fields
}

/** A record with only name, message and stack. */
export function bareRecord(error: Error): ErrorRecord {
  const record: ErrorRecord = { name: textOr(error.name, "Error"), message: textOr(error.message, "") }
  if (typeof error.stack === "string") record.stack = error.stack
  return record
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise
}

const builtIns = new Map<string, new (message: string) => Error>(
  [TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError].map((type) => [type.name, type]),
)

const perdureErrors = new Map<string, object>(
  [StepFailedError, ChildFailedError, NonRetryableError, EventTimeoutError, CancelledError, TerminatedError, ResultTimeoutError].map((type) => [
    type.name,
    type.prototype,
  ]),
)

const revived = new WeakMap<ErrorRecord, Error>()

/** The error of a record. In a cycle, the function is called first with a part of the record and again with the whole record, and returns the same error. */
export function reviveError(record: ErrorRecord, branded: boolean): Error {
  let error = revived.get(record)
  if (error === undefined) {
    error = branded ? newPerdureError(record) : newError(record)
    revived.set(record, error)
  }
  for (const key of Object.keys(record)) if (!special.has(key)) define(error, key, record[key], true)
  for (const key of ["cause", "errors"]) if (key in record) define(error, key, record[key], false)
  return error
}

function newError({ name, message, stack }: ErrorRecord): Error {
  const error = name === "AggregateError" ? new AggregateError([], message) : new (builtIns.get(name) ?? Error)(message)
  if (error.name !== name) define(error, "name", name, false)
  define(error, "stack", stack ?? `${name}: ${message}`, false)
  return error
}

/** The constructors of the subclasses compute their messages, so only the prototype is set. */
function newPerdureError({ name, message, stack, code }: ErrorRecord): PerdureError {
  const error = new PerdureError(code as ErrorCode, message)
  const prototype = perdureErrors.get(name)
  if (prototype !== undefined) Object.setPrototypeOf(error, prototype)
  define(error, "name", name, true)
  define(error, "stack", stack ?? `${name}: ${message}`, false)
  return error
}

function define(error: Error, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true })
}
