import { decodeValue, encodeValue, isPlainEncoded } from "../core/values/value-codec.ts"
import { PerdureError } from "../core/errors.ts"

/**
 * Translates values to bodies and back, for the server and for `perdure/client`. Both types are JSON.
 *
 *   application/json               Date as ISO string, BigInt as string, Map as entries, Set as array, bytes as base64, Error as
 *                                  { name, message, stack, cause, … }, its stack without frames of Perdure, NaN and ±Infinity as strings
 *   application/vnd.perdure+json   {"value":<json>}   a plain value
 *                                  {"rich":<json>}    any other value, as devalue writes it (as in the journal)
 *                                  {}                 undefined
 */
export const plainType = "application/json"
export const richType = "application/vnd.perdure+json"

/** The body of an error. It is plain JSON, unless it has a `failure` and the caller accepts the rich form. */
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly details?: unknown }
  /** The error that the workflow's own code threw: in INSTANCE_FAILED, INSTANCE_CANCELLED, INSTANCE_TERMINATED and HANDLER_FAILED. */
  readonly failure?: unknown
  /** The status of the instance whose result was requested. */
  readonly status?: string
}

/** Whether a Content-Type or an Accept names the rich form. */
export function isRichType(header: string | null | undefined): boolean {
  return header?.toLowerCase().includes(richType) === true
}

/** Throws UNSERIALIZABLE. The limits of values are checked where they are stored. */
export function encodeRich(value: unknown): string {
  const text = encodeValue(value, { bytesMax: Infinity })
  if (text === "") return "{}"
  return isPlainEncoded(text) ? `{"value":${text}}` : `{"rich":${text.slice(1)}}`
}

/** Throws BAD_JSON for text that does not have this form: the sender is not trusted. */
export function decodeRich(text: string): unknown {
  const body = parseJson(text)
  if (typeof body === "object" && body !== null && !Array.isArray(body)) {
    const { value, rich, ...others } = body as { value?: unknown; rich?: unknown }
    if (Object.keys(others).length === 0 && (value === undefined || rich === undefined)) return rich === undefined ? value : reviveRich(rich)
  }
  throw badJson(`the body of ${richType} is {"value":…}, {"rich":…} or {}`)
}

/** Deeper values would overflow the stack of code that walks through them, such as schemas. */
const depthMax = 1_000

/** Throws BAD_JSON. */
export function parseJson(text: string): unknown {
  if (isDeeper(text, depthMax)) throw badJson(`the body is nested more than ${depthMax} levels deep`)
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw badJson(`the body is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, cause)
  }
}

const sparseTag = -7
/** A sparse array states its length, which the size of a body does not bound. Code that walks through a longer array would not end. */
const sparseLengthMax = 100_000
/** A number of this many digits takes milliseconds to read; a hundred times as many take seconds. */
const digitsMax = 100_000

function reviveRich(rich: unknown): unknown {
  for (const item of Array.isArray(rich) ? (rich as readonly unknown[]) : []) {
    if (!Array.isArray(item)) continue
    if (item[0] === sparseTag && Number(item[1]) > sparseLengthMax) throw badJson(`a sparse array has at most ${sparseLengthMax} places`)
    if (item[0] === "BigInt" && String(item[1]).length > digitsMax) throw badJson(`a BigInt has at most ${digitsMax} digits`)
  }
  try {
    return decodeValue(`~${JSON.stringify(rich)}`)
  } catch (cause) {
    throw badJson(`"rich" is not what devalue writes: ${cause instanceof Error ? cause.message : String(cause)}`, cause)
  }
}

const quote = 0x22
const backslash = 0x5c

/** Counts brackets outside strings. The answer is meaningful only for JSON. */
export function isDeeper(text: string, levels: number): boolean {
  if (text.length <= levels) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === quote) {
      for (at++; at < text.length && text.charCodeAt(at) !== quote; at++) if (text.charCodeAt(at) === backslash) at++
    } else if ((unit | 0x20) === 0x7b) {
      if (++depth > levels) return true
    } else if ((unit | 0x20) === 0x7d) depth--
  }
  return false
}

function badJson(message: string, cause?: unknown): PerdureError {
  return new PerdureError("BAD_JSON", message, { cause })
}
