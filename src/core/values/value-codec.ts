import { PerdureError } from "../errors.ts"
import { isSensitiveError, markSensitive, redacted } from "./redaction.ts"
import { quoted } from "../journal/json-text.ts"
import { defaultLimits } from "../workflow/input-limits.ts"
import { isPlainJson } from "./plain-json.ts"
import { describeUnserializable, parseRich, stringifyRich } from "./rich-codec.ts"
import { bareError, storableError } from "./storable-error.ts"

/**
 * Values <-> text. The text of a value is durable, and one of
 *
 *   (empty)    undefined
 *   JSON       a tree of plain JSON, as JSON.stringify writes it:  {"i":1}
 *   ~devalue   everything else, "~" and what devalue writes (see rich-codec.ts):  ~[{"at":1},["Date","2026-01-01T00:00:00.000Z"]]
 *
 * Lone surrogates are escaped in both, so the text survives UTF-8.
 */
export type Encoded = string

const quote = 0x22
const minus = 0x2d
const tilde = 0x7e

export interface EncodeOptions {
  /** The root's name in errors: "input", "result" … */
  readonly what?: string
  /** Of the UTF-8 text. */
  readonly bytesMax?: number
  /** The name of that limit, if it is not that of payloads. */
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

/** The text is JSON of the value itself, or empty. */
export function isPlainEncoded(encoded: Encoded): boolean {
  return encoded.charCodeAt(0) !== tilde
}

/**
 * What was thrown, whatever it is: never throws. Members of an error that cannot be stored are left out; anything else
 * that cannot be stored becomes an Error with its text.
 */
export function encodeError(error: unknown, options?: EncodeOptions): Encoded {
  try {
    return encodeValue(error, options)
  } catch {
    // Too large, or it carries something that cannot be stored.
  }
  try {
    return encodeValue(storableError(error), options)
  } catch {
    return encodeRich(bareError(error), undefined)
  }
}

/** The value of an entry, as text until somebody wants it. */
export class Payload {
  static readonly undefined: Payload = new Payload("", false)
  protected readonly own: Encoded
  /** Only the code may have it, and whoever waits for the result: nobody else is shown it. */
  readonly isSensitive: boolean

  protected constructor(own: Encoded, isSensitive: boolean) {
    this.own = own
    this.isSensitive = isSensitive
  }

  get text(): Encoded {
    return this.own
  }

  /** The text as a codec has encoded it, if one has. */
  get coded(): Encoded | undefined {
    return undefined
  }

  static of(encoded: Encoded, isSensitive = false): Payload {
    return encoded === "" && !isSensitive ? Payload.undefined : new Payload(encoded, isSensitive)
  }

  /** What was thrown, whatever it is. What comes from something sensitive is so itself. */
  static ofError(error: unknown, isSensitive = false): Payload {
    return Payload.of(encodeError(error), isSensitive || isSensitiveError(error))
  }

  get length(): number {
    return this.own.length
  }

  /** A fresh value each time: its owner may change it. */
  decode(): unknown {
    return decodeValue(this.text)
  }

  /** An error for the code, which can be told from others if it is sensitive. */
  decodeError(): unknown {
    return this.isSensitive ? markSensitive(this.decode()) : this.decode()
  }

  asSensitive(): Payload {
    return Payload.of(this.own, true)
  }

  /** The value as it may be shown to anybody. */
  shown(): unknown {
    return this.isSensitive ? redacted : this.decode()
  }
}

/** Undefined: not a primitive that JSON has. */
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
 * Undefined: not plain, or a getter threw; then the rich way says so. A value with very long strings takes the rich way as well: the rich form has
 * a string once that the value refers to many times.
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

/** Encoded text has no lone surrogates: two halves make four bytes. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2
  }
  return bytes
}
