import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { connect } from "perdure/client"
import { workflowClient } from "perdure/cloudflare"
import { createHttpApp } from "perdure/http"
import { afterEach, describe, expect, it } from "vitest"
import type { IndexShard } from "../../src/ports/cloudflare/index-shard.ts"
import { ShardLayout } from "../../src/cloudflare/store/shard-layout.ts"
import { until } from "./eventually.ts"
import { faults } from "./shard-runner.ts"

const { SHARD_RUNNER } = env as { readonly SHARD_RUNNER: DurableObjectNamespace }
const client = () => workflowClient(SHARD_RUNNER)
const stubOf = (name: string) => SHARD_RUNNER.get(SHARD_RUNNER.idFromName(name))
const shardOf = (id: string) => new ShardLayout({ indexShards: 8 }).shardOf(id)

afterEach(() => {
  faults.down.clear()
  faults.isSlow = false
  faults.waiting = 0
})

const listed = async (idPrefix: string) => (await client().list({ idPrefix })).instances.map(({ id, status }) => `${id} ${status}`)

/** Makes an instance that has ended, and that the index lists. */
async function ended(id: string): Promise<void> {
  await (await client().start("quick", { id, input: 1 })).result()
  await until("the index lists it", async () => (await listed(id)).includes(`${id} completed`))
}

/** The rows of an instance in its shard, also while the shard refuses calls. */
const held = (id: string) =>
  runInDurableObject(stubOf(shardOf(id)), (_, { storage }) => storage.sql.exec("SELECT id FROM perdure_index_entry WHERE id = ?", id).toArray())

/** Fires the alarm of the object, and waits until its messages have arrived. */
async function alarmOf(id: string): Promise<void> {
  await runDurableObjectAlarm(stubOf(id))
  const tables = () =>
    runInDurableObject(stubOf(id), (_, { storage }) => storage.sql.exec("SELECT name FROM sqlite_schema WHERE name = 'perdure_index_progress'").toArray())
  await until("the object is empty", async () => (await tables()).length === 0)
}

describe("a deletion of a Durable Object", () => {
  it("is answered when the index has forgotten the instance, whatever the index has heard of it by then", async () => {
    for (let at = 0; at < 30; at++) {
      const id = `gone-${at}`
      const handle = await client().start("quick", { id, input: 1 })
      await handle.result()
      // The test varies the moment between the object's own updates of the index.
      for (let turns = 0; turns < at; turns++) await handle.status()
      expect(await handle.delete()).toEqual({ stillListed: false })
      expect(await listed(id)).toEqual([])
    }
    await ended("known")
    expect(await client().delete("known")).toEqual({ stillListed: false })
    expect([await listed("known"), await client().count({ idPrefix: "known" }, "status")]).toEqual([[], {}])
  })

  it("says so where the index does not answer; the alarm of the object makes up for it", async () => {
    await ended("late-1")
    await ended("late-2")
    faults.down.add(shardOf("late-1")).add(shardOf("late-2"))
    expect(await client().delete("late-1")).toEqual({ stillListed: true })
    const response = await createHttpApp(client()).fetch(new Request("http://localhost/workflows/late-2", { method: "DELETE" }))
    expect([response.status, await response.json()]).toEqual([202, { id: "late-2", stillListed: true }])
    for (const id of ["late-1", "late-2"]) await expect(client().describe(id)).rejects.toMatchObject({ code: "NOT_FOUND" })
    for (const id of ["late-1", "late-2"]) expect(await held(id)).toHaveLength(1)
    faults.down.clear()
    for (const id of ["late-1", "late-2"]) await alarmOf(id)
    expect(await listed("late-")).toEqual([])
  })

  it("tells clients over HTTP the same", async () => {
    await ended("remote-1")
    await ended("remote-2")
    const app = createHttpApp(client())
    const remote = connect("http://localhost", { fetch: async (url, init) => app.fetch(new Request(url, init)) })
    faults.down.add(shardOf("remote-1"))
    expect(await remote.delete("remote-1")).toEqual({ stillListed: true })
    faults.down.clear()
    expect(await remote.get("remote-2").delete()).toEqual({ stillListed: false })
    await remote.close()
  })

  it("is answered by HTTP with 204 otherwise", async () => {
    await ended("plain")
    const response = await createHttpApp(client()).fetch(new Request("http://localhost/workflows/plain", { method: "DELETE" }))
    expect([response.status, await response.text(), await listed("plain")]).toEqual([204, "", []])
  })

  it("holds against an update of the instance that reaches the index after it", async () => {
    await ended("revenant")
    const shard = stubOf(shardOf("revenant")) as unknown as IndexShard
    const entry = (await shard.indexList({ idPrefix: "revenant" })).items[0]!
    const { incarnation } = await client().describe("revenant")
    expect(entry.row.incarnation).toBe(incarnation)
    expect(await client().delete("revenant")).toEqual({ stillListed: false })
    for (const revision of [entry.revision, entry.revision + 1]) {
      await shard.indexWrite([{ row: entry.row, revision, changes: [] }])
      expect(await listed("revenant")).toEqual([])
    }
  })

  it("waits for an update that is under way", async () => {
    await client().start("patient", { id: "under-way", input: { name: "Ada" } })
    await until("the index lists it", async () => (await listed("under-way")).includes("under-way waiting"))
    faults.isSlow = true
    await client().terminate("under-way")
    await until("a shard is told", () => faults.waiting > 0)
    const deletion = client().delete("under-way")
    await until(
      "it is gone",
      async () =>
        (await client()
          .get("under-way")
          .status()
          .catch(() => "gone")) === "gone",
    )
    faults.isSlow = false
    expect([await deletion, await listed("under-way")]).toEqual([{ stillListed: false }, []])
  })

  it("of two instances that had one id one after the other, both are forgotten when the index is back", async () => {
    await ended("twice")
    faults.down.add(shardOf("twice"))
    expect(await client().delete("twice")).toEqual({ stillListed: true })
    await (await client().start("quick", { id: "twice", input: 2 })).result()
    expect(await client().delete("twice")).toEqual({ stillListed: true })
    expect(await held("twice")).toHaveLength(1)
    faults.down.clear()
    await alarmOf("twice")
    expect(await listed("twice")).toEqual([])
  })

  it("lets the id be used again at once, and the index shows the instance that has it now", async () => {
    await ended("again")
    faults.down.add(shardOf("again"))
    expect(await client().delete("again")).toEqual({ stillListed: true })
    await client().start("patient", { id: "again", input: { name: "Bob" } })
    faults.down.clear()
    await runDurableObjectAlarm(stubOf("again"))
    await until("the index lists it", async () => (await listed("again")).includes("again waiting"))
  })
})
