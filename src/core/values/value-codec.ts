import { PerdureError } from "../errors.ts"
import { isSensitiveError, markSensitive, redacted } from "./redaction.ts"
import { quoted } from "../journal/json-text.ts"
import { defaultLimits } from "../workflow/input-limits.ts"
import { isPlainJson } from "./plain-json.ts"
import { describeUnserializable, parseRich, stringifyRich } from "./rich-codec.ts"
import { bareError, storableError } from "./storable-error.ts"

/**
 * Encodes values as text, and decodes them. The text of a value is durable. It is one of
 *
 *   (empty)    undefined
 *   JSON       a tree of plain JSON, as JSON.stringify writes it:  {"i":1}
 *   ~devalue   every other value, "~" and the text of devalue (see rich-codec.ts):  ~[{"at":1},["Date","2026-01-01T00:00:00.000Z"]]
 *
 * Lone surrogates are escaped in both forms, so UTF-8 keeps the text unchanged.
 */
export type Encoded = string

const quote = 0x22
const minus = 0x2d
const tilde = 0x7e

export interface EncodeOptions {
  /** The name of the value in errors: "input", "result" … */
  readonly what?: string
  /** The maximum bytes of the UTF-8 text. */
  readonly bytesMax?: number
  /** The name of that limit, if it is not `payloadBytesMax`. */
  readonly limit?: string
}

export function encodeValue(value: unknown, options?: EncodeOptions): Encoded {
  const bytesMax = options?.bytesMax ?? defaultLimits.payloadBytesMax
  const encoded = encodePrimitive(value) ?? encodePlain(value, bytesMax) ?? encodeRich(value, options)
  if (encoded.length * 3 > bytesMax) checkSize(encoded, bytesMax, options)
  return encoded
}

export function decodeValue(encoded: Encoded): unknown {
  switch (encoded) {
    case "":
      return undefined
    case "null":
      return null
    case "true":
      return true
    case "false":
      return false
  }
  const first = encoded.charCodeAt(0)
  if (first === tilde) return parseRich(encoded.slice(1))
  if (first === quote && !encoded.includes("\\")) return encoded.slice(1, -1)
  if (first === minus || (first >= 0x30 && first <= 0x39)) return Number(encoded)
  return JSON.parse(encoded) as unknown
}

/** Whether the text is JSON of the value itself, or empty. */
export function isPlainEncoded(encoded: Encoded): boolean {
  return encoded.charCodeAt(0) !== tilde
}

/**
 * Encodes any thrown value, and never throws. Members of an error that cannot be stored are left out. Any other value that cannot be stored becomes an
 * Error with its text.
 */
export function encodeError(error: unknown, options?: EncodeOptions): Encoded {
  try {
    return encodeValue(error, options)
  } catch {
    // The error is too large, or has members that cannot be stored.
  }
  try {
    return encodeValue(storableError(error), options)
  } catch {
    return encodeRich(bareError(error), undefined)
  }
}

/** The value of an entry. It is kept as text until it is needed. */
export class Payload {
  static readonly undefined: Payload = new Payload("", false)
  protected readonly own: Encoded
  /** The value is sensitive: only the workflow's code and callers of `result()` get it. */
  readonly isSensitive: boolean

  protected constructor(own: Encoded, isSensitive: boolean) {
    this.own = own
    this.isSensitive = isSensitive
  }

  get text(): Encoded {
    return this.own
  }

  /** The text as a codec has encoded it. Undefined: no codec has. */
  get coded(): Encoded | undefined {
    return undefined
  }

  static of(encoded: Encoded, isSensitive = false): Payload {
    return encoded === "" && !isSensitive ? Payload.undefined : new Payload(encoded, isSensitive)
  }

  /** The payload of any thrown value. It is sensitive if the error is marked as sensitive. */
  static ofError(error: unknown, isSensitive = false): Payload {
    return Payload.of(encodeError(error), isSensitive || isSensitiveError(error))
  }

  get length(): number {
    return this.own.length
  }

  /** The value, decoded anew at each call, because the caller may change it. */
  decode(): unknown {
    return decodeValue(this.text)
  }

  /** The error for workflow code. It is marked if it is sensitive. */
  decodeError(): unknown {
    return this.isSensitive ? markSensitive(this.decode()) : this.decode()
  }

  asSensitive(): Payload {
    return Payload.of(this.own, true)
  }

  /** The value for everybody else: redacted if it is sensitive. */
  shown(): unknown {
    return this.isSensitive ? redacted : this.decode()
  }
}

/** Encodes a primitive. Undefined: JSON does not have the value. */
function encodePrimitive(value: unknown): Encoded | undefined {
  switch (typeof value) {
    case "string":
      return quoted(value)
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? String(value) : undefined
    case "boolean":
      return value ? "true" : "false"
    case "undefined":
      return ""
    default:
      return undefined
  }
}

/**
 * Encodes a plain value. Undefined: the value is not plain, or a getter has thrown, and the rich form is tried. A value with very long strings gets the
 * rich form too, because that has a repeated string only once.
 */
function encodePlain(value: unknown, bytesMax: number): Encoded | undefined {
  try {
    return isPlainJson(value, Math.min(bytesMax, defaultLimits.payloadBytesMax)) ? JSON.stringify(value) : undefined
  } catch {
    return undefined
  }
}

function encodeRich(value: unknown, options: EncodeOptions | undefined): Encoded {
  try {
    return `~${stringifyRich(value)}`
  } catch (problem) {
    const { path, message } = describeUnserializable(problem, options?.what ?? "value")
    throw new PerdureError("UNSERIALIZABLE", message, { details: { path }, cause: problem })
  }
}

function checkSize(encoded: Encoded, bytesMax: number, options: EncodeOptions | undefined): void {
  const bytes = utf8Length(encoded)
  if (bytes <= bytesMax) return
  const { what = "value", limit = "payloadBytesMax" } = options ?? {}
  throw new PerdureError(
    "PAYLOAD_TOO_LARGE",
    `${what} has ${bytes} bytes when encoded, more than the ${bytesMax} allowed; store it elsewhere and pass a reference, or raise the limit ${limit}`,
    { details: { bytes, bytesMax, limit } },
  )
}

/** The number of UTF-8 bytes. Encoded text has no lone surrogates, so each pair makes four bytes. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2
  }
  return bytes
}
