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
 * Errors as plain records, and back. An error comes back as the built-in class of its name, a Perdure error with its brand
 * and class, any other as an Error that has its name.
 */
export type ErrorRecord = { name: string; message: string; stack?: string; [field: string]: unknown }

/** An error that has been made a record already, in place of one that cannot be stored as it is. */
export class StoredError {
  readonly record: ErrorRecord
  readonly branded: boolean

  constructor(record: ErrorRecord, branded: boolean) {
    this.record = record
    this.branded = branded
  }
}

/** Also one of another realm, and a DOMException where that is no Error. */
export function isErrorObject(value: object): value is Error {
  if (value instanceof Error) return true
  const tag = Object.prototype.toString.call(value)
  return tag === "[object Error]" || tag === "[object DOMException]"
}

const special = new Set(["name", "message", "stack", "cause", "errors", "__proto__"])

/** What says which error it is comes first: in a cycle the error is revived before the rest of its record. */
export function errorRecord(error: Error): ErrorRecord {
  const record = bareRecord(error)
  for (const key of fieldsOf(error)) record[key] = (error as unknown as Record<string, unknown>)[key]
  return record
}

/** Of an error, what its record holds beside the bare one. */
export function fieldsOf(error: Error): string[] {
  const fields = Object.keys(error).filter((key) => !special.has(key))
  if ("cause" in error) fields.push("cause")
  if ("errors" in error) fields.push("errors")
  return fields
}

/** Name, message and stack only. */
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

/** In a cycle this is called with a part of the record first, and again when the record is whole: both give the same error. */
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

/** The subclasses compute their messages: so only their prototype is taken. */
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
