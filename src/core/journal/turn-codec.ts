import { type Encoded, isPlainEncoded, Payload, utf8Length } from "../values/value-codec.ts"
import { PerdureError } from "../errors.ts"
import type { Entry, EntryType, Recorded } from "./journal.ts"
import { endOfValue, quoted } from "./json-text.ts"
import { isCoded, storedPayload } from "../values/encoded-payload.ts"
import type { PayloadCodecs } from "../values/payload-codecs.ts"

/**
 * Encodes the entries of a turn as the text of its journal row, and decodes them. The text is durable. It is a JSON array without white space, with
 * one object per entry. An object has the fields of journal.ts, `type` first; undefined fields are left out. An entry's value comes last, as one of:
 *
 *   "value":<json>     a plain JSON value
 *   "rich":<json>      a value that JSON does not have, in devalue's form (the value's text without "~")
 *   "blob":<n>         a long value: its whole text is blob n of the row, from 0
 *   "coded":"<text>"   a value that a codec has encoded: its text without "!" (payload-codecs.ts)
 *   (none)             undefined
 *
 * A sensitive value has "sensitive":true before it. The field `memo` of a run.started is the encoded memo as a JSON string.
 *
 *   [{"type":"step.completed","id":"a","value":{"i":1}},{"type":"step.started","id":"b","attempt":1}]
 *
 * Decoding cuts the texts of values out of the row without parsing them, because many values are never needed. JSON text of another form (with white
 * space, or with fields in another order) is decoded too, but more slowly.
 */

const blobBytesMinDefault = 256 * 1024

export interface EncodedEntries {
  readonly text: string
  readonly blobs?: string[]
}

export function encodeEntries(entries: readonly Entry[], blobBytesMin = blobBytesMinDefault): EncodedEntries {
  const encoding = new EntriesText(undefined, blobBytesMin)
  for (const entry of entries) encoding.add(entry)
  const { text, blobs } = encoding
  return blobs ? { text, blobs } : { text }
}

/** Builds the text of a turn, one entry at a time. */
export class EntriesText {
  count = 0
  blobs: string[] | undefined = undefined
  /** The text without its closing bracket. */
  #text = ""
  #blobsLength = 0
  readonly #blobBytesMin: number
  readonly #codecs: PayloadCodecs | undefined

  constructor(codecs: PayloadCodecs | undefined, blobBytesMin = blobBytesMinDefault) {
    this.#codecs = codecs
    this.#blobBytesMin = blobBytesMin
  }

  /** The text of a value as the store gets it. A value that is already encoded by a codec is not encoded again. */
  stored(payload: Payload): Encoded {
    const { coded } = payload
    if (coded !== undefined) return coded
    return this.#codecs === undefined ? payload.text : this.#codecs.encode(payload.text)
  }

  /** Copies all entries of the other text, in place of its own. */
  protected addAll(other: EntriesText): void {
    this.count = other.count
    this.blobs = other.blobs?.slice()
    this.#text = other.#text
    this.#blobsLength = other.#blobsLength
  }

  /** The length of the text and of the blobs. */
  get length(): number {
    return this.#text.length + this.#blobsLength
  }

  add(entry: Entry): void {
    this.#text += encodeEntry(this.count === 0, entry, this)
    // If a codec throws, the entry does not count.
    this.count++
  }

  /** The fields of the text that an entry's value becomes. */
  field(payload: Payload): string {
    const field = this.#valueField(this.stored(payload))
    return payload.isSensitive ? `,"sensitive":true${field}` : field
  }

  #valueField(text: Encoded): string {
    if (text === "") return ""
    if (text.length * 3 > this.#blobBytesMin && utf8Length(text) > this.#blobBytesMin) {
      this.#blobsLength += text.length
      return `,"blob":${(this.blobs ??= []).push(text) - 1}`
    }
    if (isPlainEncoded(text)) return isCoded(text) ? `,"coded":${quoted(text.slice(1))}` : `,"value":${text}`
    return `,"rich":${text.slice(1)}`
  }

  get text(): string {
    return `${this.#text || "["}]`
  }
}

/** Writes the two most frequent entry types by hand, from few strings: this runs for every step, and each intermediate string is garbage. */
function encodeEntry(isFirst: boolean, entry: Entry, into: EntriesText): string {
  if (entry.at === undefined) {
    if (entry.type === "step.completed")
      return `${isFirst ? '[{"type":"step.completed","id":' : ',{"type":"step.completed","id":'}${quoted(entry.id)}${into.field(entry.value)}}`
    if (entry.type === "step.started" && !entry.child && !entry.kind)
      return `${isFirst ? '[{"type":"step.started","id":' : ',{"type":"step.started","id":'}${quoted(entry.id)},"attempt":${entry.attempt}}`
  }
  return (isFirst ? "[" : ",") + encodeAny(entry, into)
}

function encodeAny(entry: Entry, into: EntriesText): string {
  const { type, ...fields } = "memo" in entry && entry.memo ? { ...entry, memo: into.stored(entry.memo) } : entry
  if (!("value" in fields) || fields.value === undefined) return JSON.stringify({ type, ...fields })
  const { value, ...others } = fields
  return `${JSON.stringify({ type, ...others }).slice(0, -1)}${into.field(value)}}`
}

export interface EncodedRow {
  readonly position: number
  readonly run: number
  readonly at: number
  readonly entries: string
  readonly blobs?: readonly string[] | undefined
  /** The codecs that decode encoded values. */
  readonly codecs?: PayloadCodecs | undefined
}

export function decodeRow(row: EncodedRow): Recorded[] {
  const { position, run, at } = row
  try {
    const entries = new EntryReader(row).readAll() ?? parseEntries(row)
    // Entries before the `run.started` of a further run belong to the earlier run.
    const start = run > 1 ? entries.findLastIndex(({ type }) => type === "run.started") : -1
    return entries.map((entry, index) => ({ position: position + index, run: index < start ? run - 1 : run, at: entry.at ?? at, entry }))
  } catch (cause) {
    throw new PerdureError("DATABASE_CORRUPT", `the journal row at position ${position} cannot be read: ${String(cause)}; restore the database from a backup`, {
      details: { position },
      cause,
    })
  }
}

const comma = 0x2c
const closeBrace = 0x7d
const completedHead = '{"type":"step.completed","id":"'
const startedHead = '{"type":"step.started","id":"'
const attemptKey = '","attempt":'
const valueKey = '"value":'
const richKey = '"rich":'
const blobKey = '"blob":'
const codedKey = '"coded":'

/** Reads text of the exact form. Every method returns undefined for text of another form. */
class EntryReader {
  private readonly row: EncodedRow
  private readonly text: string
  private at = 0

  constructor(row: EncodedRow) {
    this.row = row
    this.text = row.entries
  }

  readAll(): Entry[] | undefined {
    const { text } = this
    if (text.charAt(0) !== "[") return undefined
    const entries: Entry[] = []
    do {
      this.at++
      const entry = this.readCompleted() ?? this.readStarted() ?? this.readAny()
      if (entry === undefined) return undefined
      entries.push(entry)
    } while (text.charCodeAt(this.at) === comma)
    return text.charAt(this.at) === "]" && this.at === text.length - 1 ? entries : undefined
  }

  private readCompleted(): Entry | undefined {
    const { text } = this
    if (!text.startsWith(completedHead, this.at)) return undefined
    const start = this.at + completedHead.length
    const end = text.indexOf('"', start)
    const id = text.slice(start, end)
    if (id.includes("\\")) return undefined
    if (text.charCodeAt(end + 1) === closeBrace) {
      this.at = end + 2
      return { type: "step.completed", id, value: Payload.undefined }
    }
    if (!text.startsWith(valueKey, end + 2)) return undefined
    const valueStart = end + 2 + valueKey.length
    const valueEnd = endOfValue(text, valueStart)
    if (text.charCodeAt(valueEnd) !== closeBrace) return undefined
    this.at = valueEnd + 1
    return { type: "step.completed", id, value: Payload.of(text.slice(valueStart, valueEnd)) }
  }

  private readStarted(): Entry | undefined {
    const { text } = this
    if (!text.startsWith(startedHead, this.at)) return undefined
    const start = this.at + startedHead.length
    const end = text.indexOf('"', start)
    const id = text.slice(start, end)
    if (id.includes("\\") || !text.startsWith(attemptKey, end)) return undefined
    const attemptStart = end + attemptKey.length
    const attemptEnd = endOfValue(text, attemptStart)
    if (text.charCodeAt(attemptEnd) !== closeBrace) return undefined
    this.at = attemptEnd + 1
    return { type: "step.started", id, attempt: Number(text.slice(attemptStart, attemptEnd)) }
  }

  private readAny(): Entry | undefined {
    const { text } = this
    const start = this.at
    if (text.charAt(start) !== "{") return undefined
    for (let key = start + 1; text.charAt(key) === '"';) {
      const valueStart = text.indexOf('":', key) + 2
      const valueEnd = endOfValue(text, valueStart)
      const next = text.charCodeAt(valueEnd)
      if (next === comma) {
        key = valueEnd + 1
        continue
      }
      if (next !== closeBrace) return undefined
      this.at = valueEnd + 1
      const value = this.payloadAt(key, text.slice(valueStart, valueEnd))
      const fields = JSON.parse(value === undefined ? text.slice(start, valueEnd + 1) : `${text.slice(start, key - 1)}}`) as Fields
      return "value" in fields || "rich" in fields || "blob" in fields || "coded" in fields ? undefined : restore(fields, value, this.row)
    }
    return undefined
  }

  /** The value that the last field holds. Undefined: the last field is not a value. */
  private payloadAt(key: number, json: string): Payload | undefined {
    if (this.text.startsWith(valueKey, key)) return Payload.of(json)
    if (this.text.startsWith(richKey, key)) return Payload.of(`~${json}`)
    if (this.text.startsWith(blobKey, key)) return blobOf(this.row, Number(json))
    if (this.text.startsWith(codedKey, key)) return storedPayload(`!${JSON.parse(json) as string}`, this.row.codecs)
    return undefined
  }
}

type Fields = Record<string, unknown> & { readonly type: EntryType }

/** Decodes text of any other form. */
function parseEntries(row: EncodedRow): Entry[] {
  return (JSON.parse(row.entries) as Fields[]).map(({ value, rich, blob, coded, ...fields }) => {
    if (blob !== undefined) return restore(fields, blobOf(row, blob as number), row)
    if (rich !== undefined) return restore(fields, Payload.of(`~${JSON.stringify(rich)}`), row)
    if (coded !== undefined) return restore(fields, storedPayload(`!${coded as string}`, row.codecs), row)
    return restore(fields, value === undefined ? undefined : Payload.of(JSON.stringify(value)), row)
  })
}

function blobOf(row: EncodedRow, index: number): Payload {
  const text = row.blobs?.[index]
  if (text === undefined) throw new Error(`its blob ${index} is missing`)
  return storedPayload(text, row.codecs)
}

/** The entry types that have a value. In their text an absent value means undefined. */
const typesWithValue: Record<Extract<Entry, { value: Payload }>["type"], true> = {
  "run.started": true,
  "step.completed": true,
  "step.failed": true,
  "event.received": true,
  "child.ended": true,
  "update.accepted": true,
  "update.completed": true,
  "update.failed": true,
  "run.completed": true,
  "run.failed": true,
  "hook.failed": true,
}

/** Whether entries of this type have a value, which may be undefined. */
export function hasValue(type: EntryType): boolean {
  return Object.hasOwn(typesWithValue, type)
}

function restore({ sensitive, ...fields }: Fields, value: Payload | undefined, { codecs }: EncodedRow): Entry {
  const found = value ?? (hasValue(fields.type) ? Payload.undefined : undefined)
  const payload = sensitive === true ? found?.asSensitive() : found
  if (typeof fields["memo"] === "string") fields["memo"] = storedPayload(fields["memo"], codecs)
  return (payload === undefined ? fields : Object.assign(fields, { value: payload })) as unknown as Entry
}
