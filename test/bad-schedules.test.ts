// Mistakes of callers of schedules. Each gets an error code and a message with advice, and nothing is changed.

import { type Context, PerdureError, workflow } from "perdure"
import { createTestEngine, type TestEngine } from "perdure/testing"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import * as z from "zod"

const echo = workflow("echo", async (_ctx: Context, input: unknown) => input)
const order = workflow("order", { input: z.object({ price: z.number() }) }, async (_ctx, input) => input.price)

let engine: TestEngine

beforeEach(async () => {
  engine = await createTestEngine({ workflows: [echo, order], startAt: Date.parse("2026-01-01T00:00:00Z") })
})

afterEach(() => engine.close())

const refusal = async (promise: Promise<unknown>): Promise<PerdureError> => {
  const error = await promise.then(
    (value) => new Error(`not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  expect(error).toSatisfy((value) => PerdureError.is(value))
  return error as PerdureError
}

type Refused = readonly [options: Record<string, unknown>, code: string, message: RegExp]

describe("create", () => {
  const create = (options: Record<string, unknown>, id = "s") => engine.schedules.create(id, { workflow: "echo", ...options } as never)
  const cases: readonly Refused[] = [
    [{}, "BAD_SCHEDULE", /^the schedule has neither cron nor every; give cron: "0 2 \* \* \*" or every: "5m"$/],
    [{ cron: "0 2 * * *", every: "5m" }, "BAD_SCHEDULE", /has both cron and every; give one of them/],
    [{ every: "5m", timeZone: "Europe/Berlin" }, "BAD_SCHEDULE", /has a timeZone, which an interval does not need/],
    [{ cron: "0 2 * *" }, "BAD_SCHEDULE", /cron "0 2 \* \*": it has 4 fields, but needs five/],
    [{ cron: "61 2 * * *" }, "BAD_SCHEDULE", /minute/],
    [{ cron: "0 0 30 2 *" }, "BAD_SCHEDULE", /30/],
    [{ cron: 5 }, "BAD_OPTION", /cron is 5; give a string/],
    [{ cron: "0 2 * * *", timeZone: "Europe/Atlantis" }, "BAD_SCHEDULE", /Europe\/Atlantis/],
    [{ every: "5 parsecs" }, "BAD_DURATION", /every: "5 parsecs" is not a duration/],
    [{ every: 0 }, "BAD_SCHEDULE", /give at least one millisecond/],
    [{ every: "5m", overlap: "wait" }, "BAD_OPTION", /overlap is "wait"; give one of "skip", "queue", "cancel-previous", "allow"/],
    [{ every: "5m", catchUp: "soon" }, "BAD_DURATION", /catchUp: "soon"/],
    [{ every: "5m", timeout: -1 }, "BAD_DURATION", /timeout: -1/],
    [{ every: "5m", startAt: "tomorrow" }, "BAD_OPTION", /startAt is "tomorrow"; give a Date/],
    [{ every: "5m", startAt: "2026-02-01", endAt: "2026-01-01" }, "BAD_OPTION", /endAt is before startAt; give a later endAt/],
    [{ every: "5m", tags: [""] }, "BAD_NAME", /tag "" is empty/],
    [{ every: "5m", ifExists: "replace" }, "BAD_OPTION", /ifExists is "replace"; give one of "error", "update"/],
    [{ every: "5m", paused: "yes" }, "BAD_OPTION", /paused is "yes"; give true or false/],
    [{ cron: "0 2 * * *", timezone: "Europe/Berlin" }, "BAD_OPTION", /there is no option "timezone" of a schedule; there are cron, timeZone, /],
    [{ every: "5m", workflow: undefined }, "BAD_OPTION", /workflow is undefined; give what workflow\(…\) gives, or the name of a workflow/],
    [{ every: "5m", workflow: "nothing" }, "UNKNOWN_WORKFLOW", /this engine has no workflow "nothing"; it knows "echo", "order"/],
    [{ every: "5m", workflow: "order", input: { price: "1" } }, "INVALID_INPUT", /the input of workflow "order" is not valid: price: /],
    [{ every: "5m", input: () => 1 }, "UNSERIALIZABLE", /input/],
    [{ every: "5m", input: "x".repeat(8 * 1024 * 1024) }, "PAYLOAD_TOO_LARGE", /^input has 8388610 bytes/],
  ]

  it.each(cases.map(([options, code, message]) => ({ options, code, message })))("$code: $message", async ({ options, code, message }) => {
    const error = await refusal(create(options))
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)])
    expect((await engine.schedules.list()).schedules).toEqual([])
  })

  it("with an id that no instance's id could begin with is refused", async () => {
    for (const id of ["", "a b", "-a", "x".repeat(232), 5 as unknown as string]) expect((await refusal(create({ every: "5m" }, id))).code).toBe("BAD_ID")
    await create({ every: "5m" }, "x".repeat(231))
    await engine.skip("5m")
    expect((await engine.list()).instances[0]?.id).toHaveLength(231 + ":2026-01-01T00:05:00Z".length)
  })

  it("with an id that exists is refused, and what is there stays", async () => {
    await create({ every: "5m", input: "first" })
    const error = await refusal(create({ every: "10m", input: "second" }))
    expect(error.code).toBe("SCHEDULE_EXISTS")
    expect(error.message).toBe('schedule "s" exists; choose another id, or say ifExists: "update" to change it')
    expect(error.details).toEqual({ schedule: "s" })
    expect(await engine.schedules.get("s").describe()).toMatchObject({ input: "first", everyMs: 300_000 })
  })
})

describe("a schedule that does not exist", () => {
  it("is said to be missing by all that can be done to it", async () => {
    const handle = engine.schedules.get("nobody")
    const window = { from: 0, to: 1 }
    const calls = [
      handle.describe(),
      handle.update({ overlap: "allow" }),
      handle.pause(),
      handle.resume(),
      handle.trigger(),
      handle.backfill(window),
      handle.delete(),
    ]
    for (const call of calls) {
      const error = await refusal(call)
      expect([error.code, error.message]).toEqual(["SCHEDULE_NOT_FOUND", 'there is no schedule "nobody"; it was never created, or is deleted'])
    }
  })
})

describe("changes", () => {
  it("that make no sense are refused, and leave the schedule as it is", async () => {
    const handle = await engine.schedules.create("s", { workflow: order, input: { price: 1 }, every: "5m", endAt: "2026-06-01" })
    const before = await handle.describe()
    const cases: readonly Refused[] = [
      [{ cron: "x" }, "BAD_SCHEDULE", /cron "x"/],
      [{ cron: "0 2 * * *", every: "5m" }, "BAD_SCHEDULE", /both/],
      [{ timeZone: "Europe/Berlin" }, "BAD_SCHEDULE", /an interval does not need/],
      [{ startAt: "2026-07-01" }, "BAD_OPTION", /endAt is before startAt/],
      [{ overlap: "never" }, "BAD_OPTION", /overlap is "never"; give one of/],
      [{ input: {} }, "INVALID_INPUT", /price/],
      [{ workflow: echo }, "BAD_OPTION", /there is no option "workflow"/],
      [{ paused: true }, "BAD_OPTION", /there is no option "paused"/],
    ]
    for (const [changes, code, message] of cases) {
      const error = await refusal(handle.update(changes))
      expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)])
    }
    expect((await refusal(handle.pause(5 as unknown as string))).code).toBe("BAD_OPTION")
    expect((await refusal(handle.trigger({ input: { price: "1" } as never }))).code).toBe("INVALID_INPUT")
    expect(await handle.describe()).toEqual(before)
    expect((await engine.list()).instances).toEqual([])
  })
})

describe("backfill", () => {
  it("of a window that is none, in the future, or too large is refused, and starts nothing", async () => {
    const handle = await engine.schedules.create("s", { workflow: echo, every: "1s" })
    const cases: readonly Refused[] = [
      [{ from: "2026-01-01", to: "2025-12-31" }, "BAD_OPTION", /to is before from; give a later to/],
      [{ from: 0, to: "2026-01-02" }, "BAD_OPTION", /to is in the future; times to come fire by themselves/],
      [{ from: "yesterday", to: 5 }, "BAD_OPTION", /from is "yesterday"; give a Date/],
      [{ from: 0, to: 5, overlap: "skip" }, "BAD_OPTION", /overlap is "skip"; give one of "allow", "queue"/],
      [
        { from: "2025-12-31", to: "2026-01-01" },
        "LIMIT_EXCEEDED",
        /there are more than 1000 times from 2025-12-31T00:00:00.000Z to 2026-01-01T00:00:00.000Z; backfill a shorter stretch at a time/,
      ],
    ]
    for (const [options, code, message] of cases) {
      const error = await refusal(handle.backfill(options as never))
      expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)])
    }
    expect((await handle.describe()).counts).toEqual({ started: 0, skipped: 0, missed: 0 })
  })

  it("of more times than may wait at once is refused", async () => {
    const handle = await engine.schedules.create("s", { workflow: echo, every: "1m", paused: true })
    await handle.backfill({ from: "2025-12-31T08:00:00Z", to: "2025-12-31T23:59:00Z" })
    const error = await refusal(handle.backfill({ from: "2025-12-31T07:00:00Z", to: "2025-12-31T08:00:00Z" }))
    expect([error.code, error.message]).toEqual(["LIMIT_EXCEEDED", "backfill: 1020 times would wait; wait until fewer do"])
  })
})

describe("list", () => {
  it("with a limit, a cursor or a workflow that is none is refused", async () => {
    for (const filter of [{ cursor: 5 }, { workflow: echo }]) expect((await refusal(engine.schedules.list(filter as never))).code).toBe("BAD_OPTION")
    for (const limit of [0, -1, 1.5, 1_001, "5"]) expect((await refusal(engine.schedules.list({ limit: limit as number }))).code).toBe("BAD_OPTION")
  })
})

it("a closed engine refuses all of it", async () => {
  const handle = await engine.schedules.create("s", { workflow: echo, every: "1s" })
  const { current } = engine
  await engine.close()
  for (const call of [handle.describe(), current.schedules.create("t", { workflow: echo, every: "1s" }), current.schedules.list()])
    expect((await refusal(call)).code).toBe("ENGINE_CLOSED")
})
