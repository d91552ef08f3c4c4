import { Buffer } from "node:buffer"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { encodeError, encodeValue, Payload } from "../values/value-codec.ts"
import { PerdureError } from "../errors.ts"
import { entryTypes, type Entry, type EntryOf, type EntryType } from "./journal.ts"
import { PayloadCodecs } from "../values/payload-codecs.ts"
import { decodeRow, encodeEntries, EntriesText } from "./turn-codec.ts"

const payload = (value: unknown) => Payload.of(encodeValue(value))
const rowOf = (entries: string, blobs?: readonly string[]) => ({ position: 7, run: 2, at: 1000, entries, ...(blobs && { blobs }) })
const decode = (entries: string, blobs?: readonly string[]) => decodeRow(rowOf(entries, blobs)).map(({ entry }) => entry)

test("entries are an array of readable objects, their values in place", () => {
  const entries: Entry[] = [
    { type: "step.completed", id: "a", value: payload({ i: 1 }) },
    { type: "step.completed", id: 'odd "id"', value: payload(undefined) },
    { type: "step.completed", id: "c", value: payload(new Date(0)) },
    { type: "step.started", id: "b#2", attempt: 1 },
    { type: "wait.started", id: "w", event: "paid", timeoutAt: 5 },
    { type: "run.started", run: 1, workflow: "order", version: "1", value: payload("x"), kept: [{ from: 1, to: 3 }] },
    { type: "run.completed", value: payload(NaN) },
    { type: "resumed" },
  ]
  const { text, blobs } = encodeEntries(entries)
  expect(text).toBe(
    "[" +
      [
        '{"type":"step.completed","id":"a","value":{"i":1}}',
        '{"type":"step.completed","id":"odd \\"id\\""}',
        '{"type":"step.completed","id":"c","rich":[["Date","1970-01-01T00:00:00.000Z"]]}',
        '{"type":"step.started","id":"b#2","attempt":1}',
        '{"type":"wait.started","id":"w","event":"paid","timeoutAt":5}',
        '{"type":"run.started","run":1,"workflow":"order","version":"1","kept":[{"from":1,"to":3}],"value":"x"}',
        '{"type":"run.completed","rich":-3}',
        '{"type":"resumed"}',
      ].join(",") +
      "]",
  )
  expect(blobs).toBeUndefined()
  expect(decode(text)).toStrictEqual(entries)
})

test("entries get positions from the row's on, and its run and time", () => {
  expect(decodeRow(rowOf('[{"type":"resumed"},{"type":"step.started","id":"a","attempt":2}]'))).toStrictEqual([
    { position: 7, run: 2, at: 1000, entry: { type: "resumed" } },
    { position: 8, run: 2, at: 1000, entry: { type: "step.started", id: "a", attempt: 2 } },
  ])
  expect(decodeRow(rowOf("[]"))).toEqual([])
})

test("what stands before the start of a further run is of the run before, also where the first one began in the same turn", () => {
  const start = (run: number): Entry => ({ type: "run.started", run, workflow: "w", version: "1", value: payload(run) })
  const { text } = encodeEntries([start(1), { type: "run.continued" }, start(2), { type: "resumed" }])
  expect(decodeRow(rowOf(text)).map(({ run, entry }) => `${run} ${entry.type}`)).toEqual(["1 run.started", "1 run.continued", "2 run.started", "2 resumed"])
})

test("values longer than the bound are blobs of the row", () => {
  const entries: Entry[] = [
    { type: "step.completed", id: "a", value: payload("x".repeat(98)) },
    { type: "step.completed", id: "b", value: payload("x".repeat(99)) },
    { type: "event.received", event: "e", value: payload(new Set(["y".repeat(100)])), eventId: "1" },
    { type: "step.completed", id: "c", value: payload("é".repeat(50)) },
  ]
  const { text, blobs } = encodeEntries(entries, 100)
  expect(text).toContain('{"type":"step.completed","id":"b","blob":0},{"type":"event.received","event":"e","eventId":"1","blob":1}')
  expect(blobs).toEqual([entries[1], entries[2], entries[3]].map((entry) => (entry as EntryOf<"run.completed">).value.text))
  expect(decode(text, blobs)).toStrictEqual(entries)
  expect(encodeEntries([{ type: "run.completed", value: payload("x".repeat(256 * 1024 - 2)) }]).blobs).toBeUndefined()
  expect(encodeEntries([{ type: "run.completed", value: payload("x".repeat(256 * 1024)) }]).blobs).toHaveLength(1)
})

describe("text that is JSON of another form is read too:", () => {
  const entries: Entry[] = [
    { type: "step.completed", id: "a", value: payload({ i: [1, "]}"] }) },
    { type: "step.failed", id: "b", attempt: 1, value: payload(new Map([[1, 2]])), retryAt: 5 },
    { type: "run.completed", value: payload("x".repeat(50)) },
    { type: "run.failed", value: payload(undefined) },
  ]
  const { text, blobs } = encodeEntries(entries, 45)
  const parsed = JSON.parse(text) as Record<string, unknown>[]
  test.each([
    ["white space", JSON.stringify(parsed, null, 2)],
    ["a space at the end", `${text}\n`],
    ["keys in reverse", JSON.stringify(parsed.map((entry) => Object.fromEntries(Object.entries(entry).reverse())))],
  ])("%s", (_, other) => {
    expect(decode(other, blobs)).toEqual(entries)
  })
})

test.each([
  ["not JSON", "[{"],
  ["cut off", '[{"type":"step.completed","id":"a","value":{"i":'],
  ["no array", "{}"],
  ["a blob that is not there", '[{"type":"run.completed","blob":0}]'],
])("%s is a corrupt row", (_, text) => {
  expect(() => decode(text)).toThrow(expect.toSatisfy((error) => PerdureError.is(error, "DATABASE_CORRUPT") && error.details["position"] === 7))
})

describe("for any entries", () => {
  const text = fc.string({ unit: "binary" })
  const key = fc.constantFrom('"value":1', '","value":', "\\", '"', "a", "#2", "}]")
  const odd = fc.oneof(
    text,
    fc.array(key).map((parts) => parts.join("")),
  )
  const count = fc.nat()
  const value = fc
    .oneof(
      fc.jsonValue({ stringUnit: "binary" }),
      fc.constantFrom<unknown[]>(undefined, NaN, new Date(5), 5n, { a: undefined }),
      odd,
      odd.map((message) => new Error(message)),
    )
    .map((thrown) => Payload.of(encodeError(thrown)))
  const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
  const fields: { [T in EntryType]: Record<string, fc.Arbitrary<unknown>> } = {
    "step.started": {
      id: odd,
      attempt: count,
      child: optional(fc.record({ instance: odd, onParentEnd: fc.constant("cancel") })),
      kind: optional(fc.constant("transaction")),
      at: optional(count),
    },
    "sleep.started": { id: odd, wakeAt: count },
    "wait.started": { id: odd, event: odd, timeoutAt: optional(count) },
    "run.started": {
      run: count,
      workflow: odd,
      version: odd,
      value,
      timeoutAt: optional(count),
      seed: optional(odd),
      tags: optional(fc.array(odd)),
      memo: optional(value),
      parent: optional(fc.record({ instance: odd, incarnation: odd, run: count, step: odd })),
      kept: optional(fc.array(fc.record({ from: count, to: count }))),
    },
    "step.completed": { id: odd, value, at: optional(count) },
    "step.failed": { id: odd, attempt: count, value, retryAt: optional(count) },
    "sleep.completed": { id: odd },
    "wait.completed": { id: odd, from: count },
    "wait.timedOut": { id: odd },
    "cancel.requested": { cause: fc.constantFrom("request", "timeout"), reason: optional(odd) },
    "terminate.requested": { reason: optional(odd) },
    "child.ended": { id: odd, instance: odd, status: fc.constantFrom("completed", "failed"), value, reason: optional(odd) },
    "event.handled": { event: odd, from: count },
    "update.accepted": { update: odd, name: odd, value },
    "update.completed": { update: odd, value },
    "update.failed": { update: odd, value },
    patched: { patch: odd },
    annotated: { tags: optional(fc.array(odd)), value: optional(value.filter(({ text: encoded }) => encoded !== "")) },
    "run.continued": {},
    "event.received": { event: odd, value, eventId: optional(odd) },
    "ask.aborted": { id: odd },
    paused: { reason: optional(odd) },
    resumed: {},
    recovered: { worker: odd },
    rested: {},
    "message.ignored": { kind: odd, reason: odd },
    stalled: { code: odd, message: odd },
    "run.completed": { value },
    "run.failed": { value, notRolledBack: optional(fc.array(odd)) },
    "run.cancelled": { reason: optional(odd) },
    "run.terminated": { reason: optional(odd) },
    "hook.completed": { hook: odd },
    "hook.failed": { hook: odd, attempt: count, value, retryAt: optional(count) },
  }
  const entryOf = (type: EntryType) => fc.record({ type: fc.constant(type), ...fields[type] }) as unknown as fc.Arbitrary<Entry>

  test.each(entryTypes)("of type %s, they come back, and the text is JSON", (type) => {
    fc.assert(fc.property(fc.array(entryOf(type), { minLength: 1, maxLength: 3 }), fc.constantFrom(undefined, 1, 30), roundTrips))
  })

  test("in any mixture", () => {
    fc.assert(fc.property(fc.array(fc.oneof(...entryTypes.map(entryOf))), fc.constantFrom(undefined, 30), roundTrips), { numRuns: 500 })
  })

  function roundTrips(entries: Entry[], blobBytesMin: number | undefined): void {
    const { text, blobs } = encodeEntries(entries, blobBytesMin)
    expect(Buffer.from(text).toString()).toBe(text)
    expect(JSON.parse(text)).toHaveLength(entries.length)
    expect(decode(text, blobs)).toEqual(entries)
    expect(encodeEntries(decode(text, blobs), blobBytesMin)).toEqual({ text, ...(blobs && { blobs }) })
    expect(decode(JSON.stringify(JSON.parse(text), null, 1), blobs).map(textsOf)).toEqual(entries.map(textsOf))
  }

  /** Of JSON that is read the slow way the text may differ, as in the order of keys that are numbers, but not the value. */
  function textsOf(entry: Entry): unknown {
    return "value" in entry && entry.value ? { ...entry, value: entry.value.decode() } : entry
  }
})

describe("values that a codec has encoded", () => {
  const codecs = new PayloadCodecs({ id: "turn-1", encode: (bytes) => bytes.toReversed(), decode: (bytes) => bytes.toReversed() }, [])
  const written = (entries: readonly Entry[], blobBytesMin?: number) => {
    const text = new EntriesText(codecs, blobBytesMin)
    for (const entry of entries) text.add(entry)
    return { position: 1, run: 1, at: 0, entries: text.text, blobs: text.blobs }
  }
  const entries: Entry[] = [
    { type: "run.started", run: 1, workflow: "w", version: "1", memo: Payload.of('{"a":1}'), value: Payload.of('"in"') },
    { type: "step.completed", id: "a", value: Payload.of("[1,2]", true) },
    { type: "step.completed", id: "b", value: Payload.undefined },
    { type: "run.completed", value: Payload.of(encodeValue(new Date(5))) },
  ]

  test.each([undefined, 1])("come back, in the row and in blobs of more than %s bytes, and are written again as they are", (blobBytesMin) => {
    const row = written(entries, blobBytesMin)
    expect(`${row.entries} ${String(row.blobs)}`).not.toContain("[1,2]")
    expect(`${row.entries} ${String(row.blobs)}`).toContain("turn-1:")
    const read = decodeRow({ ...row, codecs }).map(({ entry }) => entry)
    expect(read.map((entry) => ("value" in entry && entry.value ? [entry.value.text, entry.value.isSensitive] : []))).toEqual([
      ['"in"', false],
      ["[1,2]", true],
      ["", false],
      [encodeValue(new Date(5)), false],
    ])
    expect(encodeEntries(read, blobBytesMin).text).toBe(row.entries)
    const loose = decodeRow({ ...row, entries: JSON.stringify(JSON.parse(row.entries), null, 1), codecs }).map(({ entry }) => entry)
    expect(encodeEntries(loose, blobBytesMin).text).toBe(row.entries)
  })

  test("without the codec they are read, and written as they are, but not decoded", () => {
    const row = written(entries)
    const [first, second] = decodeRow(row).map(({ entry }) => entry)
    expect(encodeEntries(decodeRow(row).map(({ entry }) => entry)).text).toBe(row.entries)
    const value = (first as EntryOf<"run.started">).value
    expect(() => value.decode()).toThrow(expect.objectContaining({ code: "CODEC_MISSING" }))
    expect(value.shown()).toEqual({ $perdure: "encoded", codec: "turn-1" })
    expect((second as EntryOf<"step.completed">).value.shown()).toEqual({ $perdure: "redacted" })
  })
})
