import { toBase64 } from "../core/values/base64.ts"
import { utf8Length } from "../core/values/value-codec.ts"
import { isErrorObject } from "../core/values/error-record.ts"
import { PerdureError } from "../core/errors.ts"
import { defaultLimits } from "../core/workflow/input-limits.ts"
import { isPlainJson } from "../core/values/plain-json.ts"
import { userStack } from "../core/values/user-stack.ts"
import { richType } from "./wire-format.ts"

/**
 * Writes values as plain JSON, which has no references: a value that refers to one part many times is short in the rich form and long in plain JSON.
 * So the text has a limit in bytes, which the writer applies while it writes.
 *
 *   a body that is one value     throws TOO_LARGE_FOR_JSON
 *   a document that has values   gets a marker for each value that does not fit; the rest of the document stays readable
 */

/** The limit of plain JSON for a given limit of a payload. A document may have several payloads, also if the limit of each is low. */
export function plainBytesMax(payloadBytesMax = 0): number {
  return 4 * Math.max(payloadBytesMax, defaultLimits.payloadBytesMax)
}

/** Replaces a value in a document that is too large for plain JSON. */
export const tooLargeMarker = { $perdure: "tooLarge", accept: richType } as const

/** The text of a user's value. A value that JSON does not have becomes the nearest JSON value. Throws TOO_LARGE_FOR_JSON. */
export function encodePlain(value: unknown, bytesMax = plainBytesMax()): string {
  return encode(value, bytesMax)
}

/** The text of a document of the API, such as a description. Throws TOO_LARGE_FOR_JSON only if the document is too long without its values. */
export function encodeDocument(document: unknown, bytesMax = plainBytesMax()): string {
  return encode(document, bytesMax, new DocumentValues(bytesMax))
}

/** The beginning of a value's text, of at most `bytesMax` bytes. */
export function plainBeginning(value: unknown, bytesMax: number): string {
  const writer = new PlainWriter(bytesMax)
  return writer.write(value) ? writer.text : `${writer.text}…`
}

function encode(value: unknown, bytesMax: number, values?: DocumentValues): string {
  // A UTF-16 unit takes at most six bytes of JSON. A value with a shared part is not plain, so only strings can repeat.
  if (isPlainJson(value, bytesMax / 6)) return JSON.stringify(value)
  const writer = new PlainWriter(bytesMax, values)
  if (!writer.write(value)) throw tooLarge(bytesMax)
  return writer.text
}

/** The fields of documents that contain users' values, or errors that workflows threw. */
const valueKeys: ReadonlySet<string> = new Set(["payload", "input", "result", "error", "memo", "value", "failure", "details"])

/** Each value of a document may be this long, however many other values did not fit. */
const valueBytesMin = 16 * 1024

/** The values of one document. They share one limit. */
class DocumentValues {
  #bytesLeft: number
  /** The limit of one value. Each value that does not fit lowers it, so that the work for such values is bounded too. */
  #valueBytesMax: number

  constructor(bytesMax: number) {
    this.#bytesLeft = this.#valueBytesMax = bytesMax
  }

  textOf(value: unknown): string {
    const bytesMax = Math.min(this.#bytesLeft, this.#valueBytesMax)
    const writer = new PlainWriter(bytesMax)
    if (writer.write(value)) {
      this.#bytesLeft -= bytesMax - writer.bytesLeft
      return writer.text
    }
    this.#valueBytesMax = Math.max(valueBytesMin, this.#valueBytesMax / 4)
    return JSON.stringify(tooLargeMarker)
  }
}

const limitReached = new Error("the text is longer than its limit")

/** Deeper values would overflow the stack. */
const depthMax = 1_000
/** Each object counts these bytes besides its text, because it takes time. Each payload that may be stored, and repeats nothing, still fits. */
const objectBytes = 8
/** The number of pieces of text that are joined at a time. */
const piecesMax = 4_096

class PlainWriter {
  bytesLeft: number
  readonly #values: DocumentValues | undefined
  readonly #parents = new Set<object>()
  readonly #bigints = new Map<bigint, string>()
  readonly #joined: string[] = []
  #pieces: string[] = []

  constructor(bytesMax: number, values?: DocumentValues) {
    this.bytesLeft = bytesMax
    this.#values = values
  }

  get text(): string {
    return this.#joined.join("") + this.#pieces.join("")
  }

  /** False: the text is longer than the limit, and only its beginning is written. */
  write(value: unknown): boolean {
    try {
      this.#any(value)
      return true
    } catch (error) {
      if (error === limitReached) return false
      throw error
    }
  }

  #any(value: unknown): void {
    switch (typeof value) {
      case "string":
        return this.#string(value)
      case "bigint":
        return this.#put(this.#bigint(value))
      case "number":
        return this.#put(Number.isFinite(value) ? String(value) : `"${value}"`)
      case "boolean":
        return this.#put(String(value))
      case "object":
        return value === null ? this.#put("null") : this.#guarded(value)
      default:
        return this.#put("null")
    }
  }

  /** The conversion of a long BigInt takes milliseconds, and the value may refer to the same BigInt many times. */
  #bigint(value: bigint): string {
    const known = this.#bigints.get(value)
    if (known !== undefined) return known
    const text = `"${value}"`
    this.#bigints.set(value, text)
    return text
  }

  #guarded(value: object): void {
    if (this.#parents.has(value)) return this.#put('"[circular]"')
    if (this.#parents.size >= depthMax) return this.#put('"[left out]"')
    this.#spend(objectBytes)
    this.#parents.add(value)
    this.#object(value)
    this.#parents.delete(value)
  }

  #object(value: object): void {
    if (value instanceof Date) return this.#put(JSON.stringify(value))
    if (Array.isArray(value) || value instanceof Map || value instanceof Set) return this.#list(value as Iterable<unknown>)
    if (value instanceof RegExp || value instanceof URL || value instanceof URLSearchParams) return this.#string(String(value))
    if (value instanceof ArrayBuffer) return this.#bytes(new Uint8Array(value))
    if (ArrayBuffer.isView(value)) return this.#bytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
    this.#members(isErrorObject(value) ? this.#fieldsOf(value) : value)
  }

  #list(items: Iterable<unknown>): void {
    let separator = "["
    for (const item of items) {
      this.#put(separator)
      this.#any(item)
      separator = ","
    }
    this.#put(separator === "[" ? "[]" : "]")
  }

  #members(record: object): void {
    let separator = "{"
    for (const [key, item] of Object.entries(record)) {
      if (item === undefined || typeof item === "function" || typeof item === "symbol") {
        // A field that is omitted takes time too, so it counts one byte.
        this.#spend(1)
        continue
      }
      this.#put(separator)
      this.#string(key)
      this.#put(":")
      // Values have their own limit, so their text does not count for the limit of the document.
      if (this.#values && valueKeys.has(key)) this.#add(this.#values.textOf(item))
      else this.#any(item)
      separator = ","
    }
    this.#put(separator === "{" ? "{}" : "}")
  }

  #fieldsOf(error: Error): object {
    // The search for the user's frames takes time, also if it finds none.
    this.#spend(typeof error.stack === "string" ? error.stack.length : 0)
    const { name, message } = error
    const stack = userStack(error)
    const { stack: _, ...fields } = Object.fromEntries(Object.entries(error))
    return { name, message, ...(stack === undefined ? undefined : { stack }), ...("cause" in error ? { cause: error.cause } : undefined), ...fields }
  }

  #bytes(bytes: Uint8Array): void {
    this.#spend(Math.ceil(bytes.length / 3) * 4 + 2)
    this.#add(`"${toBase64(bytes)}"`)
  }

  #string(text: string): void {
    // Each unit takes at least a byte, so the length is checked before the text is converted. The part that fits is written: the caller may want the beginning.
    if (text.length > this.bytesLeft) {
      this.#add(JSON.stringify(text.slice(0, this.bytesLeft)).slice(0, -1))
      throw limitReached
    }
    const quoted = JSON.stringify(text)
    this.#spend(utf8Length(quoted))
    this.#add(quoted)
  }

  #put(text: string): void {
    this.#spend(text.length)
    this.#add(text)
  }

  #add(text: string): void {
    if (this.#pieces.push(text) < piecesMax) return
    this.#joined.push(this.#pieces.join(""))
    this.#pieces = []
  }

  #spend(bytes: number): void {
    if (bytes > this.bytesLeft) throw limitReached
    this.bytesLeft -= bytes
  }
}

function tooLarge(bytesMax: number): PerdureError {
  return new PerdureError(
    "TOO_LARGE_FOR_JSON",
    `the value has more than ${bytesMax} bytes as plain JSON, which repeats every shared part; accept ${richType}, which has each part once, or use perdure/client`,
    { details: { bytesMax, accept: richType } },
  )
}
