import { describe, expect, it } from "vitest"
import type { NewTask, TaskClaim, TaskStore } from "../../ports/task-store.ts"
import { completed, creation, found, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

const task = (id: string, more: Partial<NewTask> = {}): NewTask => ({
  id,
  step: "reserve",
  attempt: 1,
  activity: "reserve",
  queue: "warehouse",
  key: "k",
  input: "[7]",
  ...more,
})

export function taskCases(bed: CurrentBed): void {
  const tasks = (): TaskStore => found(bed().store.tasks)
  const claimBy = (token: string, more: Partial<TaskClaim> = {}) =>
    tasks().claim({ worker: "w", token, activities: ["reserve"], limit: 10, leaseMs: 30_000, ...more })
  /** Creates the instance, with a turn that writes these tasks. */
  const write = async (instance: string, ...written: NewTask[]) => {
    expect(await bed().journal.commit([creation(instance), turn(instance, 3, { tasks: written })])).toEqual(["committed", "committed"])
  }
  const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)
  const inbox = async (instance: string) =>
    (await bed().journal.readInbox([instance])).map(({ kind, topic, payload, eventId }) => ({ kind, topic, payload, eventId }))

  describe("tasks", () => {
    it("are written with their turn, and claimed in the order in which they were written, with all their fields", async () => {
      const full = task("t2", {
        step: "reserve#2",
        attempt: 3,
        details: `"half \ud800"`,
        sensitive: true,
        timeoutMs: 5_000,
        heartbeatMs: 2_000,
        startBy: 1_009_000,
        closeBy: 1_060_000,
      })
      await write("i", task("t1", { input: `"${"ü\u0000😀".repeat(100)}"` }), full)
      const claim = { worker: "w", token: "k", claimedAt: 1_000_000, heartbeatAt: 1_000_000 }
      expect(await claimBy("k")).toEqual([
        { ...task("t1", { input: `"${"ü\u0000😀".repeat(100)}"` }), instance: "i", createdAt: 1_000_500, claim },
        { ...full, instance: "i", createdAt: 1_000_500, claim },
      ])
      expect(await claimBy("l")).toEqual([])
      expect(await tasks().find(["t2", "nobody"])).toEqual([{ ...full, instance: "i", createdAt: 1_000_500, claim }])
    })

    it("may be written by the turn that creates the instance, and not by a turn that is lost", async () => {
      const { journal } = bed()
      const first = { ...creation("i"), tasks: [task("t1")] }
      expect(await journal.commit([first])).toEqual(["committed"])
      expect(await journal.commit([{ ...creation("i"), tasks: [task("t2")] }, turn("i", 9, { tasks: [task("t3")] })])).toEqual(["lost", "lost"])
      expect(await journal.commit([first])).toEqual(["committed"])
      expect(ids(await claimBy("k"))).toEqual(["t1"])
    })

    it("are given only to workers of their queue and their activity, as many as asked for", async () => {
      await write("i", task("t1"), task("t2", { queue: "far" }), task("t3", { activity: "ship" }), task("t4"), task("t5"))
      expect(ids(await claimBy("a", { queues: ["far", "other"] }))).toEqual(["t2"])
      expect(ids(await claimBy("b", { activities: ["other"] }))).toEqual([])
      expect(ids(await claimBy("c", { limit: 1 }))).toEqual(["t1"])
      expect(ids(await claimBy("d", { activities: ["ship", "reserve"] }))).toEqual(["t3", "t4", "t5"])
    })

    it("end once: a late or a second ending finds nothing, and the message has the last heartbeat unless it completes the activity", async () => {
      await write("i", task("t1"), task("t2"), task("t3", { details: `"from before"` }))
      await claimBy("k")
      expect(
        await tasks().keep(
          [
            { id: "t1", token: "k", heartbeat: { details: `"half"` } },
            { id: "t2", token: "k", heartbeat: {} },
          ],
          30_000,
        ),
      ).toEqual(["kept", "kept"])
      const end = (id: string, ending: string, completes: boolean, token = "k") => ({ id, token, ending, completes })
      const endings = [
        end("t1", `{"value":"1"}`, true),
        end("t1", `{"value":"2"}`, true, "other"),
        end("t3", `{"error":"e"}`, false),
        end("nobody", "{}", true),
      ]
      expect(await tasks().finish(endings)).toEqual(["finished", "gone", "finished", "gone"])
      expect(await tasks().finish([endings[0]!, end("t2", "{}", false)])).toEqual(["gone", "finished"])
      expect(await inbox("i")).toEqual([
        { kind: "activity", topic: "reserve", payload: `{"value":"1"}`, eventId: "t1" },
        { kind: "activity", topic: "reserve", payload: JSON.stringify({ details: `"from before"`, error: "e" }), eventId: "t3" },
        { kind: "activity", topic: "reserve", payload: "{}", eventId: "t2" },
      ])
    })

    it("wake their instance when they end", async () => {
      await write("i", task("t1"))
      await claimBy("k")
      const claim = () => bed().journal.claim({ worker: "w", offers: [{ workflow: "order", version: "1" }], limit: 10, leaseMs: 30_000 })
      expect(await claim()).toEqual([])
      await tasks().finish([{ id: "t1", token: "k", ending: "{}", completes: true }])
      expect((await claim()).map(({ instance }) => instance.id)).toEqual(["i"])
    })

    it("end without a message by a turn of their instance: some of them, or all", async () => {
      const { journal } = bed()
      await write("i", task("t1"), task("t2"), task("t3"))
      await write("j", task("t4"))
      await claimBy("k", { limit: 2 })
      await journal.commit([turn("i", 4, { endsTasks: ["t1", "t4", "nobody"] })])
      expect(
        await tasks().keep(
          [
            { id: "t1", token: "k" },
            { id: "t2", token: "k" },
          ],
          30_000,
        ),
      ).toEqual(["gone", "kept"])
      await journal.commit([turn("i", 5, { endsTasks: "all", tasks: [task("t5")] })])
      expect(ids(await tasks().find(["t1", "t2", "t3", "t4", "t5"])).toSorted()).toEqual(["t4", "t5"])
      await journal.commit([turn("i", 6, { endsTasks: "all", state: completed, discardInbox: true })])
      expect(await tasks().finish([{ id: "t2", token: "k", ending: "{}", completes: true }])).toEqual(["gone"])
      expect(await inbox("i")).toEqual([])
      expect(ids(await claimBy("l"))).toEqual(["t4"])
    })

    it("of an instance that has ended are dropped when they finish", async () => {
      const { journal } = bed()
      await write("i", task("t1"))
      await claimBy("k")
      await journal.commit([turn("i", 4, { state: completed })])
      expect(await tasks().finish([{ id: "t1", token: "k", ending: "{}", completes: true }])).toEqual(["finished"])
      expect(await inbox("i")).toEqual([])
    })

    it("are removed with their instance, which may have ended without ending them", async () => {
      const { journal, directory } = bed()
      await write("i", task("t1"), task("t2", { input: `"${"x".repeat(600_000)}"`, startBy: 1_005_000 }))
      await write("j", task("t3"))
      await claimBy("k", { limit: 1 })
      await journal.commit([turn("i", 4, { state: completed })])
      expect(await directory.remove(["i"])).toEqual(["i"])
      expect(ids(await tasks().find(["t1", "t2", "t3"]))).toEqual(["t3"])
      expect(await tasks().depths()).toEqual([{ queue: "warehouse", waiting: 1, claimed: 0, oldestAt: 1_000_500 }])
      bed().now += 10_000
      expect(await tasks().expire(10)).toEqual({ instances: [] })
      expect(ids(await claimBy("l"))).toEqual(["t3"])
    })

    it("may have an input of some megabytes", async () => {
      const input = `"${"\u{1f600}x\0".repeat(400_000)}"`
      await write("i", task("t1", { input }), task("t2"), task("t3", { input: `"${"y".repeat(300_000)}"` }))
      expect((await tasks().find(["t1"]))[0]?.input === input).toBe(true)
      const claimed = await claimBy("k")
      expect(ids(claimed)).toEqual(["t1", "t2", "t3"])
      expect(claimed[0]?.input === input).toBe(true)
      expect(await tasks().finish([{ id: "t1", token: "k", ending: "{}", completes: true }])).toEqual(["finished"])
      await bed().journal.commit([turn("i", 4, { endsTasks: ["t3"] }), turn("i", 5, { endsTasks: "all", tasks: [task("t4")] })])
      expect(ids(await claimBy("l"))).toEqual(["t4"])
    })

    it("take repeated renewals and endings of one call in their order", async () => {
      await write("i", task("t1"), task("t2"))
      await claimBy("k")
      const keep = (details?: string) => ({ id: "t1", token: "k", heartbeat: details === undefined ? {} : { details } })
      bed().now += 1_000
      expect(await tasks().keep([keep(`"1"`), { id: "t1", token: "k" }, keep(`"2"`), keep(), { id: "t1", token: "l" }], 5_000)).toEqual([
        ...["kept", "kept", "kept", "kept"],
        "gone",
      ])
      const [kept] = await tasks().find(["t1"])
      expect([kept?.details, kept?.claim?.heartbeatAt]).toEqual([`"2"`, 1_001_000])
      const end = (id: string, ending: string) => ({ id, token: "k", ending, completes: true })
      expect(await tasks().finish([end("t2", "2"), end("t1", "1"), end("t2", "3")].map((each) => ({ ...each, ending: `{"value":"${each.ending}"}` })))).toEqual(
        [...["finished", "finished"], "gone"],
      )
      expect((await inbox("i")).map(({ payload }) => payload)).toEqual([`{"value":"2"}`, `{"value":"1"}`])
    })

    it("are not expired by a claim whose time was renewed, nor given out while they are claimed", async () => {
      await write("i", task("t1", { startBy: 1_001_000 }))
      expect(await tasks().expire(10)).toEqual({ instances: [], nextAt: 1_001_000 })
      await claimBy("k", { leaseMs: 5_000 })
      bed().now += 4_000
      expect(await tasks().expire(10)).toEqual({ instances: [], nextAt: 1_005_000 })
      expect(await tasks().keep([{ id: "t1", token: "k" }], 5_000)).toEqual(["kept"])
      expect(await tasks().expire(10)).toEqual({ instances: [], nextAt: 1_009_000 })
      expect(await claimBy("l")).toEqual([])
    })

    it("are lost to their worker when neither it nor its heartbeats renew the claim", async () => {
      await write("i", task("t1"), task("t2", { heartbeatMs: 5_000 }), task("t3", { heartbeatMs: 5_000 }))
      await claimBy("k", { leaseMs: 10_000 })
      expect(await tasks().expire(10)).toEqual({ instances: [], nextAt: 1_005_000 })
      bed().now += 4_000
      const kept = [
        { id: "t1", token: "k" },
        { id: "t2", token: "k" },
        { id: "t3", token: "k", heartbeat: { details: `"9"` } },
      ]
      expect(await tasks().keep(kept, 10_000)).toEqual(["kept", "kept", "kept"])
      bed().now += 1_000
      expect(await tasks().expire(10)).toEqual({ instances: ["i"], nextAt: 1_009_000 })
      expect(await inbox("i")).toEqual([{ kind: "activity", topic: "reserve", payload: `{"expired":"lost"}`, eventId: "t2" }])
      bed().now += 4_000
      expect(await tasks().expire(10)).toEqual({ instances: ["i"], nextAt: 1_014_000 })
      expect((await inbox("i")).at(-1)).toEqual({
        kind: "activity",
        topic: "reserve",
        payload: JSON.stringify({ details: `"9"`, expired: "lost" }),
        eventId: "t3",
      })
      bed().now = 1_014_000
      expect(await tasks().expire(10)).toEqual({ instances: ["i"] })
      expect(await tasks().keep(kept, 10_000)).toEqual(["gone", "gone", "gone"])
    })

    it("expire when the attempt, the activity or the wait for a worker takes too long", async () => {
      const before = [task("t1", { timeoutMs: 2_000 }), task("t2", { closeBy: 1_002_000 }), task("t3", { activity: "ship", startBy: 1_002_000 })]
      await write("i", ...before, task("t4", { activity: "ship", closeBy: 1_002_000 }), task("t5", { startBy: 1_002_000 }))
      await claimBy("k")
      bed().now += 2_000
      expect(ids(await claimBy("l", { activities: ["ship"] }))).toEqual([])
      const expired = await tasks().expire(10)
      expect(expired.instances).toEqual(["i", "i", "i", "i"])
      const reasons = (await inbox("i")).map(({ eventId, payload }) => [eventId, payload] as const)
      expect(Object.fromEntries(reasons)).toEqual({
        t1: `{"expired":"attempt"}`,
        t2: `{"expired":"close"}`,
        t3: `{"expired":"start"}`,
        t4: `{"expired":"close"}`,
      })
      expect(ids(await tasks().find(["t1", "t2", "t3", "t4", "t5"]))).toEqual(["t5"])
    })

    it("expire in portions", async () => {
      await write("i", ...["t1", "t2", "t3"].map((id) => task(id, { startBy: 1_001_000 })))
      bed().now += 1_000
      expect((await tasks().expire(2)).instances).toEqual(["i", "i"])
      expect((await tasks().expire(2)).instances).toEqual(["i"])
      expect(await tasks().expire(2)).toEqual({ instances: [] })
    })

    it("of a queue with a rate are claimed at that rate, over all workers", async () => {
      await write("i", ...["t1", "t2", "t3", "t4", "t5"].map((id) => task(id)), task("t6", { queue: "other" }))
      const rate = { queues: ["warehouse"], rate: { max: 2, perMs: 1_000 } }
      expect(ids(await claimBy("a", rate))).toEqual(["t1", "t2"])
      expect(ids(await claimBy("b", { ...rate, worker: "v" }))).toEqual([])
      bed().now += 999
      expect(ids(await claimBy("c", rate))).toEqual([])
      bed().now += 1
      expect(ids(await claimBy("d", { ...rate, limit: 1 }))).toEqual(["t3"])
      expect(ids(await claimBy("e", rate))).toEqual(["t4"])
      expect(ids(await claimBy("f", { queues: ["other"] }))).toEqual(["t6"])
      expect(ids(await claimBy("g", { queues: ["warehouse"], rate: { max: 1, perMs: 1_000 } }))).toEqual([])
      expect(ids(await claimBy("h"))).toEqual(["t5"])
    })

    it("are counted by queue", async () => {
      await write("i", task("t1"), task("t2"), task("t3", { queue: "far", activity: "ship" }))
      await claimBy("k", { limit: 1 })
      expect(await tasks().depths()).toEqual([
        { queue: "far", waiting: 1, claimed: 0, oldestAt: 1_000_500 },
        { queue: "warehouse", waiting: 1, claimed: 1, oldestAt: 1_000_500 },
      ])
      await claimBy("l")
      expect(await tasks().depths()).toContainEqual({ queue: "warehouse", waiting: 0, claimed: 2 })
    })

    it("come by the thousand in one commit, and go so", async () => {
      const many = Array.from({ length: 1_000 }, (_, n) => task(`t${n}`))
      await write("i", ...many)
      const claimed = await claimBy("k", { limit: 1_000 })
      expect(ids(claimed)).toEqual(ids(many))
      const endings = claimed.map(({ id }) => ({ id, token: "k", ending: `{"value":"${id}"}`, completes: true }))
      expect(await tasks().finish(endings)).toEqual(claimed.map(() => "finished"))
      expect((await inbox("i")).map(({ eventId }) => eventId)).toEqual(ids(many))
    })
  })

  describe("workers of task queues", () => {
    it("are known for as long as they announce themselves", async () => {
      const all = { worker: "a", activities: ["reserve", "ship"] }
      const far = { worker: "b", queues: ["far"], activities: ["ship"] }
      const known = async () => (await tasks().workers()).toSorted((one, other) => (one.worker < other.worker ? -1 : 1))
      await tasks().announce(all, 10_000)
      await tasks().announce({ ...far, activities: [] }, 10_000)
      await tasks().announce(far, 20_000)
      expect(await known()).toEqual([all, far])
      bed().now += 10_000
      expect(await known()).toEqual([far])
      await tasks().announce(far, 0)
      expect(await known()).toEqual([])
    })
  })
}
