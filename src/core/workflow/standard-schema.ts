import { messageOf } from "../values/error-text.ts"
import { PerdureError } from "../errors.ts"
import { markSensitive } from "../values/redaction.ts"

/**
 * The interface of Standard Schema, version 1 (https://standardschema.dev). Validation libraries such as Zod, Valibot and ArkType implement it, so
 * Perdure depends on none of them.
 */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  /** The properties of a standard schema: its version, its vendor, and the function that checks a value. */
  readonly "~standard": StandardProps<Input, Output>
}

interface StandardProps<Input, Output> {
  readonly version: 1
  readonly vendor: string
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
  /** Types for the compiler only. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined
}

type StandardResult<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] }

interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type InferInput<Schema extends StandardSchemaV1> = NonNullable<Schema["~standard"]["types"]>["input"]
export type InferOutput<Schema extends StandardSchemaV1> = NonNullable<Schema["~standard"]["types"]>["output"]

export interface ValidateOptions {
  readonly code: "INVALID_INPUT" | "INVALID_EVENT"
  /** The name of the value in the error message, such as `input of workflow "order"`. */
  readonly what: string
  /** The value is sensitive, so the error is marked as sensitive too: issues may contain the value. */
  readonly isSensitive?: boolean | undefined
}

/** One problem of the value, in `details.issues` of the error. */
export interface Issue {
  /** The path inside the value, such as `items[2].price`; empty for the value itself. */
  readonly path: string
  readonly message: string
}

/** Checks a value and returns the schema's converted value. The result is a promise only if the schema returns one. */
export function validate(schema: StandardSchemaV1, value: unknown, options: ValidateOptions): unknown {
  const result = schema["~standard"].validate(value)
  return isThenable(result) ? result.then((settled) => accept(settled, options)) : accept(result, options)
}

/** The same, but an error that the schema's code throws becomes an issue of the value. */
export async function validateSafely(schema: StandardSchemaV1, value: unknown, options: ValidateOptions): Promise<unknown> {
  try {
    return await validate(schema, value, options)
  } catch (error) {
    if (PerdureError.is(error)) throw error
    throw refusal(`could not be checked: ${messageOf(error)}`, options, { cause: error })
  }
}

function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown }).then === "function"
}

function accept(result: StandardResult<unknown>, options: ValidateOptions): unknown {
  if (result.issues === undefined) return result.value
  const issues = result.issues.map(({ path, message }): Issue => ({ path: pathOf(path ?? []), message }))
  const list = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ")
  throw refusal(`is not valid: ${list}`, options, { details: { issues } })
}

function refusal(problem: string, { code, what, isSensitive }: ValidateOptions, more: { cause?: unknown; details?: Record<string, unknown> }): PerdureError {
  const error = new PerdureError(code, `${what} ${problem}`, more)
  return isSensitive ? markSensitive(error) : error
}

const identifier = /^[A-Za-z_$][\w$]*$/

function pathOf(path: NonNullable<StandardIssue["path"]>): string {
  let text = ""
  for (const segment of path) {
    const key = typeof segment === "object" ? segment.key : segment
    if (typeof key === "number") text += `[${key}]`
    else if (typeof key === "string" && !identifier.test(key)) text += `[${JSON.stringify(key)}]`
    else text += text === "" ? String(key) : `.${String(key)}`
  }
  return text
}
