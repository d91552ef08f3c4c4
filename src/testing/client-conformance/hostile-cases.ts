import { describe, expect, it } from "vitest"
import type { ErrorCode } from "../../core/errors.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Client } from "../../client-api/client-api.ts"
import type { CurrentClient } from "./client-bed.ts"
import {
  allBut,
  noCount,
  noDefinition,
  noDuration,
  noFlag,
  noList,
  noName,
  noNumber,
  noObject,
  noTags,
  noText,
  noTime,
  noWord,
  tagsOfNoTag,
  values,
} from "./hostile-values.ts"
import { untilWaiting } from "./instance-cases.ts"
import { echo, limited, patient } from "./sample-workflows.ts"

/** Arguments of untyped callers: each wrong argument is refused with a code and a message that names the argument, and changes nothing. */

interface Hostile {
  /** The name of the argument in the message. */
  readonly argument: string
  readonly code?: ErrorCode
  readonly wrong: readonly unknown[]
  readonly call: (client: Client, wrong: never) => unknown
}

/** For methods whose types depend on their arguments. */
const asText = (wrong: unknown) => wrong as string
const asDefinition = (wrong: unknown) => wrong as typeof echo

/** A waiting instance that a refused call must leave unchanged. */
const there = "there"
const schedule = "daily"

interface Coded {
  readonly code: ErrorCode
  readonly wrong: readonly unknown[]
}

/** Wrong values whose error has another code than `BAD_OPTION`. */
const coded = (code: ErrorCode, wrong: readonly unknown[]): Coded => ({ code, wrong })

/** A case for each field of an object of options. */
function options(wrong: Readonly<Record<string, readonly unknown[] | Coded>>, call: (client: Client, options: never) => unknown): readonly Hostile[] {
  return Object.entries(wrong).map(([argument, given]) => ({
    argument,
    ...("wrong" in given ? given : { wrong: given }),
    call: (client, value: unknown) => call(client, { [argument]: value } as never),
  }))
}

const start = {
  id: coded(
    "BAD_ID",
    noName.filter((one) => one !== undefined),
  ),
  version: noText,
  allowUnknown: noFlag,
  ifExists: noWord,
  delay: coded("BAD_DURATION", noDuration),
  startAt: noTime,
  timeout: coded("BAD_DURATION", noDuration),
  priority: noNumber,
  requestId: [...allBut(), "short"],
}
const page = { limit: [...noCount, 1_001], cursor: noText }
const filter = {
  workflow: noText,
  version: noText,
  status: [...allBut(), ["nonsense"], ["running", null], [["running"]]],
  tag: noText,
  queue: noText,
  since: noTime,
  until: noTime,
  idPrefix: noText,
}
const times = { catchUp: noDuration.filter((one) => one !== null), timeout: noDuration.filter((one) => one !== null) }
const instants = { startAt: noTime.filter((one) => one !== null), endAt: noTime.filter((one) => one !== null) }

const ofClient: Readonly<Record<string, readonly Hostile[]>> = {
  start: [
    { argument: "workflow", wrong: [...noDefinition, undefined, {}, { name: "echo" }], call: (client, wrong) => client.start(asText(wrong)) },
    { argument: "options", wrong: noObject, call: (client, wrong) => client.start(echo, wrong) },
    ...options(start, (client, given) => client.start("echo", given)),
    { argument: "tags", wrong: noTags, call: (client, wrong) => client.start(echo, { tags: wrong }) },
    { argument: "tag", code: "BAD_NAME", wrong: tagsOfNoTag, call: (client, wrong) => client.start(echo, { tags: wrong }) },
    { argument: "task queue", code: "BAD_NAME", wrong: [...noText, ""], call: (client, wrong) => client.start(echo, { taskQueue: wrong }) },
    {
      argument: "",
      code: "UNSERIALIZABLE",
      wrong: [values.hostile, values.proxy, values.revoked, { a: Symbol("s") }],
      call: (client, wrong) => client.start(echo, { input: wrong }),
    },
  ],
  startBatch: [
    { argument: "items", wrong: [...noList, undefined], call: (client, wrong) => client.startBatch(wrong) },
    { argument: "options", wrong: noObject, call: (client, wrong) => client.startBatch([], wrong) },
  ],
  sendOrStart: [
    {
      argument: "workflow",
      wrong: [...noDefinition, undefined],
      call: (client, wrong) => client.sendOrStart(asText(wrong), { id: "a", event: "word", payload: 1, input: 1 }),
    },
    { argument: "options", wrong: noObject, call: (client, wrong) => client.sendOrStart(patient, wrong) },
    {
      argument: "id",
      code: "BAD_ID",
      wrong: noName,
      call: (client, wrong) => client.sendOrStart("patient", { id: wrong, event: "word", payload: 1, input: 1 }),
    },
    {
      argument: "event type",
      code: "BAD_NAME",
      wrong: noName,
      call: (client, wrong) => client.sendOrStart("patient", { id: "a", event: wrong, payload: 1, input: 1 }),
    },
    ...options({ eventId: noText, version: noText, timeout: start.timeout, priority: noNumber }, (client, given: object) =>
      client.sendOrStart("patient", { id: "a", event: "word", payload: 1, input: 1, ...given }),
    ),
  ],
  list: [
    { argument: "filter", wrong: noObject, call: (client, wrong) => client.list(wrong) },
    ...options({ ...filter, ...page, order: noWord }, (client, given) => client.list(given)),
  ],
  count: [
    { argument: "filter", wrong: noObject, call: (client, wrong) => client.count(wrong, "status") },
    { argument: "by", wrong: [...noWord, undefined, "id", "status, (SELECT 1)"], call: (client, wrong) => client.count({}, wrong) },
    ...options(filter, (client, given) => client.count(given, "status")),
  ],
  get: [
    { argument: "workflow", wrong: [...noDefinition, undefined], call: (client, wrong) => client.get(asDefinition(wrong), "a") },
    { argument: "id", code: "BAD_ID", wrong: noName, call: (client, wrong) => client.get(echo, wrong) },
    { argument: "id", code: "BAD_ID", wrong: [""], call: (client, wrong) => client.get(asText(wrong)) },
  ],
  changes: [{ argument: "cursor", wrong: noText, call: (client, wrong) => client.changes(wrong)[Symbol.asyncIterator]().next() }],
  ...Object.fromEntries(
    (["describe", "why", "pause", "resume", "cancel", "terminate", "restart", "delete", "query", "update", "fork"] as const).map((method) => [
      method,
      [
        {
          argument: "id",
          code: "BAD_ID",
          wrong: noName,
          call: (client: Client, wrong: never) => client[method](wrong, method === "fork" ? ({ id: "a" } as never) : ("words" as never)),
        },
      ],
    ]),
  ),
}

const ofHandle: Readonly<Record<string, readonly Hostile[]>> = {
  result: [
    { argument: "options", wrong: noObject, call: (client, wrong) => client.get(there).result(wrong) },
    ...options({ timeout: coded("BAD_DURATION", noDuration), rejectWhenStalled: noFlag, signal: allBut() }, (client, given) => client.get(there).result(given)),
  ],
  history: [
    { argument: "options", wrong: noObject, call: (client, wrong) => client.get(there).history(wrong) },
    ...options({ ...page, run: noCount, order: noWord }, (client, given) => client.get(there).history(given)),
  ],
  sendEvent: [
    { argument: "event type", code: "BAD_NAME", wrong: noName, call: (client, wrong) => client.get(there).sendEvent(wrong, 1) },
    { argument: "options", wrong: noObject, call: (client, wrong) => client.get(there).sendEvent("word", 1, wrong) },
    { argument: "", code: "UNSERIALIZABLE", wrong: [values.hostile, values.proxy], call: (client, wrong) => client.get(there).sendEvent("word", wrong) },
    ...options({ eventId: noText }, (client, given) => client.get(there).signal("word", 1, given)),
  ],
  pause: [{ argument: "reason", wrong: noText, call: (client, wrong) => client.get(there).pause(wrong) }],
  cancel: [{ argument: "reason", wrong: noText, call: (client, wrong) => client.cancel(there, wrong) }],
  terminate: [
    { argument: "options", wrong: allBut("text", "object", "hostile"), call: (client, wrong) => client.get(there).terminate(wrong) },
    ...options({ reason: noText, rollback: noFlag }, (client, given) => client.terminate(there, given)),
  ],
  restart: [
    { argument: "options", wrong: noObject, call: (client, wrong) => client.get(there).restart(wrong) },
    ...options({ from: noText }, (client, given) => client.restart(there, given)),
  ],
  fork: [
    { argument: "options", wrong: noObject, call: (client, wrong) => client.get(there).fork(wrong) },
    { argument: "id", code: "BAD_ID", wrong: noName, call: (client, wrong) => client.get(there).fork({ id: wrong }) },
    ...options({ from: noText, requestId: start.requestId }, (client, given: object) => client.fork(there, { id: "other", ...given })),
  ],
  query: [{ argument: "query name", code: "BAD_NAME", wrong: noName, call: (client, wrong) => client.get(there).query(wrong) }],
  update: [{ argument: "update name", code: "BAD_NAME", wrong: noName, call: (client, wrong) => client.get(there).update(wrong) }],
  changes: [{ argument: "cursor", wrong: noText, call: (client, wrong) => client.get(there).changes(wrong)[Symbol.asyncIterator]().next() }],
}

const every = { every: "1h" }
const claim = { worker: "w", activities: ["a"] }
const ofOthers: Readonly<Record<string, readonly Hostile[]>> = {
  "limits.get and limits.reset": [
    { argument: "workflow", wrong: [...noDefinition, undefined], call: (client, wrong) => client.limits.get(wrong) },
    { argument: "workflow", wrong: [...noDefinition, undefined], call: (client, wrong) => client.limits.reset(wrong) },
  ],
  "limits.set": [
    { argument: "workflow", wrong: [...noDefinition, undefined], call: (client, wrong) => client.limits.set(wrong, { concurrency: 1 }) },
    { argument: "limits", wrong: noObject, call: (client, wrong) => client.limits.set(limited, wrong) },
    ...options(
      { concurrency: [null, Number.NaN, true, "5", 1n, values.symbol, values.function, ["a"], { wide: "a" }, values.proxy, values.revoked] },
      (client, given) => client.limits.set(limited, given),
    ),
    ...options({ rateLimit: [...noObject, ...noNumber.map((limit) => ({ limit, per: "1s" }))] }, (client, given) => client.limits.set(limited, given)).map(
      (one) => ({ ...one, argument: "" }),
    ),
  ],
  "tasks.claim": [
    { argument: "task queue", code: "BAD_NAME", wrong: [...noText, ""], call: (client, wrong) => client.tasks.claim(wrong, claim) },
    { argument: "options", wrong: noObject, call: (client, wrong) => client.tasks.claim("far", wrong) },
    { argument: "worker name", code: "BAD_NAME", wrong: noName, call: (client, wrong) => client.tasks.claim("far", { ...claim, worker: wrong }) },
    ...options({ activities: [...noList, undefined, []], max: [...noCount, 101], signal: allBut() }, (client, given: object) =>
      client.tasks.claim("far", { ...claim, ...given }),
    ),
    {
      argument: "activity name",
      code: "BAD_NAME",
      wrong: [[5], [""], [null]],
      call: (client, wrong) => client.tasks.claim("far", { ...claim, activities: wrong }),
    },
    { argument: "wait", code: "BAD_DURATION", wrong: noDuration, call: (client, wrong) => client.tasks.claim("far", { ...claim, wait: wrong }) },
  ],
  "the other methods of tasks": (["heartbeat", "complete", "fail"] as const).flatMap((method) => [
    { argument: "task", wrong: noObject, call: (client: Client, wrong: never) => client.tasks[method](wrong, {}) },
    { argument: "id", code: "BAD_ID" as const, wrong: noName, call: (client: Client, wrong: never) => client.tasks[method]({ id: wrong, token: "t" }, {}) },
    {
      argument: "token",
      code: "BAD_NAME" as const,
      wrong: noName,
      call: (client: Client, wrong: never) => client.tasks[method]({ id: "t", token: wrong }, {}),
    },
  ]),
  "options of tasks": [
    ...options({ renew: noFlag }, (client, given) => client.tasks.heartbeat({ id: "t", token: "t" }, given)),
    ...options({ retryable: noFlag }, (client, given) => client.tasks.fail({ id: "t", token: "t" }, "error", given)),
  ],
  "schedules.create": [
    { argument: "id", code: "BAD_ID", wrong: noName, call: (client, wrong) => client.schedules.create(wrong, { workflow: "echo", every: "1h" }) },
    { argument: "options", wrong: noObject, call: (client, wrong) => client.schedules.create("s", wrong) },
    {
      argument: "workflow",
      wrong: [...noDefinition, undefined],
      call: (client, wrong) => client.schedules.create("s", { workflow: asText(wrong), every: "1h" }),
    },
    ...options(
      {
        overlap: noWord,
        paused: noFlag,
        ifExists: noWord,
        ...instants,
      },
      (client, given: object) => client.schedules.create("s", { workflow: "echo", ...every, ...given } as never),
    ),
    ...options({ every: coded("BAD_DURATION", noDuration), cron: noText }, (client, given: object) =>
      client.schedules.create("s", { workflow: "echo", ...given } as never),
    ),
    ...options({ catchUp: coded("BAD_DURATION", times.catchUp), timeout: coded("BAD_DURATION", times.timeout) }, (client, given: object) =>
      client.schedules.create("s", { workflow: "echo", ...every, ...given } as never),
    ),
    {
      argument: "tag",
      code: "BAD_NAME",
      wrong: tagsOfNoTag,
      call: (client, wrong) => client.schedules.create("s", { workflow: "echo", every: "1h", tags: wrong }),
    },
  ],
  "schedules.list and schedules.get": [
    { argument: "filter", wrong: noObject, call: (client, wrong) => client.schedules.list(wrong) },
    ...options({ ...page, workflow: noText }, (client, given) => client.schedules.list(given)),
    { argument: "id", code: "BAD_ID", wrong: noName, call: (client, wrong) => client.schedules.get(echo, wrong) },
  ],
  "methods of a schedule": [
    { argument: "changes", wrong: noObject, call: (client, wrong) => client.schedules.get(schedule).update(wrong) },
    ...options({ overlap: noWord, ...instants }, (client, given) => client.schedules.get(schedule).update(given)),
    { argument: "reason", wrong: noText, call: (client, wrong) => client.schedules.get(schedule).pause(wrong) },
    { argument: "options", wrong: noObject, call: (client, wrong) => client.schedules.get(schedule).trigger(wrong) },
    { argument: "options", wrong: noObject, call: (client, wrong) => client.schedules.get(schedule).backfill(wrong) },
    ...options({ from: [...noTime, undefined], overlap: noWord }, (client, given: object) =>
      client.schedules.get(schedule).backfill({ from: 0, to: 0, ...given }),
    ),
    ...options({ to: [...noTime, undefined] }, (client, given: object) => client.schedules.get(schedule).backfill({ from: 0, to: 0, ...given })),
  ],
}

/** A call that answers at once throws at once. */
async function refusalOf({ call }: Hostile, client: Client, wrong: unknown): Promise<unknown> {
  try {
    return { accepted: await call(client, wrong as never) }
  } catch (error) {
    return error
  }
}

/** Returns one line for each wrong argument that is not refused as expected. */
async function complaints(cases: readonly Hostile[], client: Client): Promise<readonly string[]> {
  const found: string[] = []
  for (const one of cases) {
    const { argument, code = "BAD_OPTION" } = one
    for (const [at, wrong] of one.wrong.entries()) {
      const error = await refusalOf(one, client, wrong)
      const what = `${argument} (wrong value ${at}, ${typeof wrong})`
      if (!PerdureError.is(error)) found.push(`${what}: ${error instanceof Error ? `${error.name}: ${error.message}` : "accepted"}`)
      else if (error.code !== code || !error.message.includes(argument)) found.push(`${what}: ${error.code}: ${error.message}`)
    }
  }
  return found
}

export function hostileCases(client: CurrentClient): void {
  describe("wrong arguments", () => {
    const all = { ...ofClient, ...Object.fromEntries(Object.entries(ofHandle).map(([name, cases]) => [`${name} of a handle`, cases])), ...ofOthers }

    it.each(Object.entries(all))("of %s are refused with a code, and change nothing", async (_, cases) => {
      await client().start(patient, { id: there })
      const before = await client().schedules.create(schedule, { workflow: "echo", every: "24h" })
      expect(await complaints(cases, client())).toEqual([])
      expect((await client().list()).instances.map(({ id }) => id)).toEqual([there])
      expect(["queued", "running", "waiting"]).toContain(await client().get(there).status())
      expect((await client().schedules.list()).schedules.map(({ id, status }) => [id, status])).toEqual([[schedule, "active"]])
      expect(await before.describe()).toMatchObject({ everyMs: 86_400_000, overlap: "skip" })
    })

    it("of an item of a batch fail only that item", async () => {
      const items = [
        { workflow: "echo", id: "first", input: 1 },
        null,
        5,
        {},
        { workflow: 5, id: "named" },
        { workflow: "echo", id: 5 },
        { workflow: "echo", tags: "x" },
        values.proxy,
        { workflow: echo, id: "last" },
      ]
      const results = await client().startBatch(items as never)
      expect(results.map((result) => [result.id, result.created || result.error.code])).toEqual([
        ["first", true],
        ["", "BAD_OPTION"],
        ["", "BAD_OPTION"],
        ["", "BAD_OPTION"],
        ["named", "BAD_OPTION"],
        ["", "BAD_ID"],
        ["", "BAD_OPTION"],
        ["", "BAD_OPTION"],
        ["last", true],
      ])
      const messages = results.map((result) => (result.created ? "" : result.error.message))
      expect(messages[1]).toMatch(/^items\[1\] is null; give /)
      expect(messages[2]).toMatch(/^items\[2\] is 5; give /)
      expect(messages[3]).toMatch(/^workflow is undefined; give /)
      expect((await client().list({ order: "oldest" })).instances.map(({ id }) => id).toSorted()).toEqual(["first", "last"])
    })

    it("are read once: the checked value is the used value", async () => {
      let reads = 0
      const options = {
        get id() {
          return reads++ === 0 ? "once" : "../twice"
        },
      }
      expect((await client().start(echo, options)).id).toBe("once")
      expect(reads).toBe(1)
    })

    it("count names the words by which it can count", async () => {
      await expect((client().count as (filter: object) => Promise<unknown>)({})).rejects.toMatchObject({
        code: "BAD_OPTION",
        message: 'by is undefined; give one of "status", "workflow"',
      })
    })

    it("text that no id, name or tag can have finds nothing and does not fail", async () => {
      await client().start(echo, { id: "a", tags: ["t"] })
      for (const odd of ["\0", "a\0", "\ud800", "a\udc00", "%", "_", "'", '"; --', "\\", "%00"]) {
        for (const key of ["idPrefix", "workflow", "version", "tag", "queue"] as const)
          expect((await client().list({ [key]: odd })).instances, `${key} ${JSON.stringify(odd)}`).toEqual([])
        expect(await client().count({ idPrefix: odd }, "status")).toEqual({})
        await expect(client().describe(odd)).rejects.toSatisfy((error) => PerdureError.is(error, "NOT_FOUND") || PerdureError.is(error, "BAD_ID"))
      }
    })

    it("no id or name leaves its place in the address of a request", async () => {
      await untilWaiting(await client().start(patient, { id: there }))
      for (const odd of [".", "..", "../..", "a/../b", "?", "#", "%2e%2e"]) {
        await expect(client().delete(odd)).rejects.toSatisfy((error) => PerdureError.is(error, "NOT_FOUND") || PerdureError.is(error, "BAD_ID"))
        await expect(client().describe(odd)).rejects.toSatisfy((error) => PerdureError.is(error, "NOT_FOUND") || PerdureError.is(error, "BAD_ID"))
        await expect(client().get(there).query(odd)).rejects.toSatisfy((error) => PerdureError.is(error, "UNKNOWN_QUERY") || PerdureError.is(error, "BAD_NAME"))
      }
      expect((await client().list()).instances).toHaveLength(1)
    })
  })
}
