import { describe, expect, it } from "vitest"
import type { Change } from "../../core/journal/change.ts"
import type { CurrentClient } from "./client-bed.ts"
import { untilWaiting } from "./instance-cases.ts"
import { checked, echo, failing, noting, patient, richValue, sampleWorkflows } from "./sample-workflows.ts"

async function take(changes: AsyncIterable<Change>, count: number): Promise<Change[]> {
  const taken: Change[] = []
  for await (const change of changes) if (taken.push(change) >= count) break
  return taken
}

export function overviewCases(client: CurrentClient): void {
  describe("list and count", () => {
    const populate = async () => {
      const since = new Date()
      await client().start(echo, { id: "order-1", input: 1, tags: ["eu"] })
      await client().start(echo, { id: "order-2", input: 1 })
      await client().start(checked, { id: "check-1", input: 1, tags: ["eu"] })
      await client().start(failing, { id: "fail-1" })
      for (const id of ["order-1", "order-2", "check-1", "fail-1"])
        await client()
          .get(id)
          .result()
          .catch(() => undefined)
      return since
    }

    it("honour their filters, and return pages", async () => {
      const since = await populate()
      const ids = async (filter: Parameters<ReturnType<CurrentClient>["list"]>[0]) => (await client().list(filter)).instances.map(({ id }) => id)
      expect(await ids({ order: "oldest" })).toEqual(["order-1", "order-2", "check-1", "fail-1"])
      expect(await ids({})).toEqual(["fail-1", "check-1", "order-2", "order-1"])
      expect(await ids({ workflow: "echo" })).toEqual(["order-2", "order-1"])
      expect(await ids({ workflow: "checked", version: "3" })).toEqual(["check-1"])
      expect(await ids({ status: "failed" })).toEqual(["fail-1"])
      expect(await ids({ status: ["failed", "completed"], tag: "eu", order: "oldest" })).toEqual(["order-1", "check-1"])
      expect(await ids({ idPrefix: "order", since })).toEqual(["order-2", "order-1"])
      expect(await ids({ until: since.getTime() })).toEqual([])
      const first = await client().list({ limit: 3 })
      const second = await client().list({ limit: 3, cursor: first.cursor ?? "" })
      expect([...first.instances, ...second.instances].map(({ id }) => id)).toEqual(["fail-1", "check-1", "order-2", "order-1"])
      expect(second).not.toHaveProperty("cursor")
      expect(first.instances[1]).toMatchObject({ id: "check-1", workflow: "checked", version: "3", run: 1, status: "completed", tags: ["eu"] })
      await expect(client().list({ cursor: "nonsense" })).rejects.toMatchObject({ code: "BAD_OPTION" })
    })

    it("know task queues, tags that change, and the memo", async () => {
      await client()
        .start(noting, { id: "n", tags: ["a"] })
        .then((handle) => handle.result())
      await client().start(patient, { id: "far", taskQueue: "far", tags: ["b"] })
      const queues = async (queue: string) => (await client().list({ queue })).instances.map(({ id }) => id)
      expect(await queues("far")).toEqual(["far"])
      expect(await queues("default")).toEqual(["n"])
      expect((await client().list({ tag: "noted" })).instances).toMatchObject([
        { id: "n", queue: "default", tags: expect.arrayContaining(["noted"]) as string[] },
      ])
      expect(await client().describe("far")).toMatchObject({ queue: "far", tags: ["b"] })
      expect((await client().describe("n")).memo).toStrictEqual({ note: richValue })
      expect(await client().count({ queue: "far" }, "workflow")).toEqual({ patient: 1 })
      for await (const change of client().get("far").changes()) {
        expect(change.taskQueue).toBe("far")
        break
      }
    })

    it("count by status and by workflow", async () => {
      await populate()
      expect(await client().count({}, "status")).toEqual({ completed: 3, failed: 1 })
      expect(await client().count({ tag: "eu" }, "workflow")).toEqual({ echo: 1, checked: 1 })
      expect(await client().count({ status: ["failed"] }, "workflow")).toEqual({ failing: 1 })
    })
  })

  describe("workflows", () => {
    it("lists the workflows that can be started by name", async () => {
      const workflows = await client().workflows()
      expect(workflows.map(({ name }) => name).toSorted()).toEqual(sampleWorkflows.map(({ name }) => name).toSorted())
      expect(workflows.find(({ name }) => name === "checked")).toEqual({ name: "checked", version: "3", versions: ["3"] })
    })
  })

  describe("changes", () => {
    const life = ["workflow.started", "step.started", "step.completed", "workflow.completed"]

    it("come from the beginning, from a cursor and from now on, of all and of one", async () => {
      await client()
        .start(echo, { id: "a", input: 1 })
        .then((handle) => handle.result())
      const all = await take(client().changes(), 4)
      expect(all.map(({ instance, type }) => `${instance} ${type}`)).toEqual(life.map((type) => `a ${type}`))
      expect(all[1]).toMatchObject({ workflow: "echo", version: "1", taskQueue: "default", run: 1, position: 2, data: { step: "say", attempt: 1 } })
      for (const [at, { cursor }] of all.slice(0, 3).entries())
        expect((await take(client().changes(cursor), 3 - at)).map(({ id }) => id)).toEqual(all.slice(at + 1).map(({ id }) => id))
      const later = client().changes("latest")[Symbol.asyncIterator]()
      const place = await later.cursor()
      const next = later.next()
      const handle = await client().start(patient, { id: "p" })
      expect(await next).toMatchObject({ done: false, value: { instance: "p", type: "workflow.started" } })
      expect((await take(client().changes(place), 1))[0]?.instance).toBe("p")
      expect((await take(handle.changes(), 1))[0]).toMatchObject({ instance: "p", type: "workflow.started" })
      await later.return()
    })

    it("are followed as they come", async () => {
      const handle = await client().start(patient, { id: "p" })
      const following = take(handle.changes(), 6)
      await client().start(echo, { id: "other", input: 1 })
      await untilWaiting(handle)
      await handle.sendEvent("word", 1)
      expect((await following).map(({ type }) => type)).toEqual([
        "workflow.started",
        "step.started",
        "step.completed",
        "event.received",
        "event.consumed",
        "workflow.completed",
      ])
    })

    it("of one instance come from now on", async () => {
      const handle = await client().start(patient, { id: "p" })
      await untilWaiting(handle)
      const later = handle.changes("latest")[Symbol.asyncIterator]()
      await later.cursor()
      const next = later.next()
      await handle.sendEvent("word", 1)
      expect(await next).toMatchObject({ done: false, value: { instance: "p", type: "event.received" } })
      await later.return()
    })

    it("end when the reader stops waiting, and refuse invalid cursors", async () => {
      const iterator = client().changes("latest")[Symbol.asyncIterator]()
      const waiting = iterator.next()
      await iterator.cursor()
      expect(await iterator.return()).toEqual({ done: true, value: undefined })
      expect(await waiting).toEqual({ done: true, value: undefined })
      expect(await iterator.next()).toEqual({ done: true, value: undefined })
      await expect(take(client().changes("nonsense"), 1)).rejects.toMatchObject({ code: "BAD_OPTION" })
    })
  })
}
