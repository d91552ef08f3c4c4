import { type Context, workflow } from "perdure"
import { createTestEngine } from "perdure/testing"
import { describe, expect, it } from "vitest"
import { HttpApi } from "../../test/http-api.ts"
import { encodeDocument, encodePlain, plainBeginning, tooLargeMarker } from "./plain-body.ts"
import { encodeRich, richType } from "./wire-format.ts"

const bytesMax = 100_000
const tooLarge = expect.objectContaining({ code: "TOO_LARGE_FOR_JSON", message: expect.stringContaining(richType) as string }) as unknown

function doubled(levels: number, leaf: unknown, join: (below: unknown) => unknown): unknown {
  let value = leaf
  for (let level = 0; level < levels; level++) value = join(value)
  return value
}

const text = "x".repeat(50_000)
const shared = { text }
const bytes = new Uint8Array(50_000)

const leftOut = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, undefined]))

/** Each is small as it is stored, and without end as a tree. */
const amplified: Readonly<Record<string, unknown>> = {
  "one string many times": Array.from({ length: 400 }, () => text),
  "one object many times": Array.from({ length: 400 }, () => shared),
  "one key many times": Array.from({ length: 400 }, () => ({ [text]: 1 })),
  "bytes many times": Array.from({ length: 400 }, () => bytes),
  "views of the same bytes": Array.from({ length: 400 }, () => new Uint8Array(bytes.buffer)),
  "arrays that double": doubled(60, [], (below) => [below, below]),
  "objects that double": doubled(60, 1, (below) => ({ a: below, b: below })),
  "Maps that double": doubled(60, new Map(), (below) => new Map([[below, below]])),
  "Sets in arrays that double": doubled(60, new Set([1]), (below) => [below, new Set([below])]),
  "errors that double": doubled(60, new Error("a"), (below) => Object.assign(new Error("b", { cause: below }), { below })),
  "control characters, which are escaped": "\u0001".repeat(50_000),
  "three bytes for each unit": "\u20ac".repeat(50_000),
  "fields that are left out": Array.from({ length: 1_000 }, () => leftOut),
  "holes of sparse arrays": Array.from({ length: 100 }, () => Object.assign([], { length: 100_000 })),
}

describe("plain JSON", () => {
  it("writes a long BigInt once, however often the value refers to it", () => {
    const long = 10n ** 20_000n
    const beganAt = performance.now()
    encodePlain([long])
    const onceMs = performance.now() - beganAt
    const manyAt = performance.now()
    expect(encodePlain(Array.from({ length: 1_000 }, () => long)).length).toBe(20_004 * 1_000 + 1)
    expect(performance.now() - manyAt).toBeLessThan(500 * onceMs)
  })

  it.each(Object.entries(amplified))("of %s ends at the limit", (_, value) => {
    expect(() => encodePlain(value, bytesMax)).toThrow(tooLarge)
    expect(plainBeginning(value, 1_000).length).toBeLessThan(60_000)
  })

  it.each(Object.entries(amplified))("of a document that has %s has a marker there, and all others", (_, value) => {
    const document = {
      id: "a",
      payload: value,
      steps: [
        { id: "s", result: value },
        { id: "t", result: { small: new Date(0) } },
      ],
    }
    const answer = encodeDocument(document, bytesMax)
    expect(answer.length).toBeLessThan(1_000)
    expect(JSON.parse(answer)).toEqual({
      id: "a",
      payload: tooLargeMarker,
      steps: [
        { id: "s", result: tooLargeMarker },
        { id: "t", result: { small: "1970-01-01T00:00:00.000Z" } },
      ],
    })
  })

  it("has all of a value that is as long as the limit, and nothing of one that is a byte longer", () => {
    const value = { text: "\u20ac\n".repeat(50_000), when: new Date(0) }
    const length = Buffer.byteLength(encodePlain(value))
    expect(Buffer.byteLength(encodePlain(value, length + 16))).toBe(length)
    expect(() => encodePlain(value, length - 1)).toThrow(tooLarge)
  })

  it("of many values that do not fit has a marker for each, and still has the small ones", () => {
    const laughs = amplified["arrays that double"]
    const entries = Array.from({ length: 1_000 }, (_, position) => ({ position, data: { id: "s", value: position % 2 === 0 ? laughs : new Date(0) } }))
    const answer = JSON.parse(encodeDocument({ entries })) as { entries: unknown[] }
    expect(answer.entries.slice(-2)).toEqual([
      { position: 998, data: { id: "s", value: tooLargeMarker } },
      { position: 999, data: { id: "s", value: "1970-01-01T00:00:00.000Z" } },
    ])
  })

  it("of a document has all values together up to the limit, and markers for the rest", () => {
    const steps = Array.from({ length: 10 }, (_, n) => ({ id: `s${n}`, result: `${n}`.repeat(30_000) }))
    const answer = encodeDocument({ at: new Date(0), steps }, bytesMax)
    expect(answer.length).toBeLessThan(bytesMax + 2_000)
    expect(JSON.parse(answer)).toMatchObject({ steps: steps.map(({ id, result }, n) => ({ id, result: n < 3 ? result : tooLargeMarker })) })
  })

  it("of a document that is too long without its values is refused", () => {
    expect(() => encodeDocument({ unknown: amplified["one object many times"] }, bytesMax)).toThrow(tooLarge)
  })

  it("begins with a part of a text that is too long", () => {
    expect(plainBeginning({ a: 1, b: ["x".repeat(1_000)] }, 60)).toMatch(/^\{"a":1,"b":\["x{10,}…$/)
    expect(plainBeginning({ a: 1 }, 30)).toBe('{"a":1}')
  })
})

interface Kept {
  readonly list: readonly string[]
  readonly at: Date
}

const keeper = workflow("keeper", async (ctx: Context<{ stop: undefined }>, input: Kept) => {
  ctx.setQueryHandler("list", () => input.list)
  await ctx.waitForEvent("stop")
  return input
})

const thrower = workflow("thrower", async (_: Context, input: Kept) => {
  // oxlint-disable-next-line no-throw-literal
  throw input.list
})

const megabyte = "x".repeat(1_000_000)
const payloadOf = (length: number): Kept => ({ list: Array.from({ length }, () => megabyte), at: new Date(0) })
const payload = payloadOf(400)

async function openAmplified(type: string, { payload, ...options }: { readonly payload: Kept; readonly limits?: { readonly payloadBytesMax: number } }) {
  const engine = await createTestEngine({ workflows: [keeper, thrower], ...options })
  const api = new HttpApi(engine)
  expect(await api.rich("POST", "/workflows", { type, id: "k", payload })).toMatchObject([201, { id: "k" }])
  return Object.assign(api, { [Symbol.asyncDispose]: () => engine.close() })
}

describe("a payload of 1 MB that would be 400 MB of JSON", () => {
  const refusal = { error: { code: "TOO_LARGE_FOR_JSON", details: { accept: richType } } }

  it("is a marker in descriptions and histories, and whole in the rich form", async () => {
    await using api = await openAmplified("keeper", { payload })
    for (const [path, where] of [
      ["/workflows/k", { id: "k", type: "keeper", status: "waiting", payload: tooLargeMarker }],
      ["/workflows/k/history", { entries: { 0: { type: "run.started", data: { version: "1", value: tooLargeMarker } } } }],
    ] as const) {
      const response = await api.call("GET", path)
      const answer = await response.text()
      expect(answer.length).toBeLessThan(10_000)
      expect([response.status, JSON.parse(answer)]).toMatchObject([200, where])
    }
    expect(await api.rich("GET", "/workflows/k")).toMatchObject([200, { payload: { list: { length: 400, 399: megabyte }, at: new Date(0) } }])
  })

  it("is refused as an answer and as a result, with the media type that has it", async () => {
    await using api = await openAmplified("keeper", { payload })
    expect(await api.json("POST", "/workflows/k/queries/list")).toMatchObject([406, refusal])
    expect(await api.rich("POST", "/workflows/k/queries/list")).toMatchObject([200, { length: 400 }])
    await api.engine.get("k").sendEvent("stop", undefined)
    expect(await api.json("GET", "/workflows/k/result")).toMatchObject([406, refusal])
    expect(await api.rich("GET", "/workflows/k/result")).toMatchObject([200, { list: { length: 400 } }])
  })

  it("is short in changes, streams and failures where a workflow throws it", async () => {
    await using api = await openAmplified("thrower", { payload })
    let told = ""
    const stream = (await api.call("GET", "/workflows/k/stream")).body as ReadableStream<Uint8Array>
    for await (const part of stream) {
      told += new TextDecoder().decode(part)
      if (told.includes("workflow.failed")) break
    }
    expect(told.length).toBeLessThan(20_000)
    const [status, failed] = await api.json("GET", "/workflows/k/result")
    expect([status, failed]).toMatchObject([409, { error: { code: "INSTANCE_FAILED" }, failure: tooLargeMarker }])
    expect(JSON.stringify(failed).length).toBeLessThan(10_000)
  })
})

it("an engine whose payloads may be longer answers with longer JSON", async () => {
  await using api = await openAmplified("keeper", { payload: payloadOf(40), limits: { payloadBytesMax: 16 * 1024 * 1024 } })
  const asked = await api.call("POST", "/workflows/k/queries/list")
  expect([asked.status, (await asked.text()).length]).toEqual([200, 40 * 1_000_003 + 1])
})

it("the rich form has a string once that a plain value refers to many times", () => {
  expect(encodeRich(payload.list).length).toBeLessThan(1_010_000)
})
