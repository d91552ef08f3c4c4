// A message from one instance's object to another arrives once, also if an object dies between the write and the send, or before the response arrives.

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { describe, expect, it } from "vitest"
import { OutboxTable } from "../../src/stores/sqlite/object/outbox-table.ts"
import { client, deathAt, entries, moments, pause, settled, stubOf } from "./deaths.ts"
import { soon, until } from "./eventually.ts"
import { network, runs } from "./faulty-runner.ts"

describe.each(moments)("objects that die %s a call", (moment) => {
  it("start a child once", async () => {
    const id = `start-${moment}`
    const die = deathAt({ method: "peerCreate", target: `${id}-child`, moment })
    await client.start("parent", { id, input: { waits: false } })
    await die()
    expect(await settled(client.get(id), [id, `${id}-child`])).toBe("completed")
    expect(await client.get(id).result()).toBe(`result of ${id}-child`)
    expect(await entries(`${id}-child`, "run.started")).toBe(1)
    expect(await entries(id, "child.ended")).toBe(1)
    expect([runs.get(`${id}-child/work`), runs.get(`${id}/after`)]).toEqual([1, 1])
  })

  it("give a child's result to its parent once", async () => {
    const id = `result-${moment}`
    const die = deathAt({ method: "peerReceive", target: id, moment })
    await client.start("parent", { id, input: { waits: false } })
    await die()
    expect(await settled(client.get(id), [`${id}-child`, id])).toBe("completed")
    expect(await client.get(id).result()).toBe(`result of ${id}-child`)
    expect([await entries(id, "child.ended"), await entries(id, "message.ignored")]).toEqual([1, 0])
    expect([runs.get(`${id}-child/work`), runs.get(`${id}/after`)]).toEqual([1, 1])
  })

  it("cancel a child whose parent was terminated, once", async () => {
    const id = `cancel-${moment}`
    const handle = await client.start("parent", { id, input: { waits: true } })
    await soon(async () => expect(await client.get(`${id}-child`).status()).toBe("waiting"))
    const die = deathAt({ method: "peerReceive", target: `${id}-child`, moment })
    const ending = handle.terminate("enough").catch(() => undefined)
    await die()
    await ending
    expect(await settled(client.get(`${id}-child`), [id, `${id}-child`])).toBe("cancelled")
    expect([await entries(`${id}-child`, "cancel.requested"), await entries(`${id}-child`, "message.ignored")]).toEqual([1, 0])
    expect(await client.get(id).status()).toBe("terminated")
  })
})

it("messages to an object that is out of order hold up no others", async () => {
  const id = "starved"
  const handle = await client.start("parent", { id, input: { waits: true } })
  await until("the child is at work", () => runs.has(`${id}-child/work`))
  network.down.add("nobody")
  await runInDurableObject(stubOf(id), (_, { storage }) => {
    // The first message would create the table, but this test needs it before.
    storage.sql.exec(OutboxTable.definitions["perdure_outbox"]![0]!)
    for (let at = 0; at < 150; at++) storage.sql.exec("INSERT INTO perdure_outbox (target, kind, at) VALUES ('nobody', 'cancel', 0)")
  })
  await handle.terminate("enough")
  await soon(async () => expect(await client.get(`${id}-child`).status()).toBe("cancelled"))
  network.down.clear()
  await settled(handle, [id])
  await soon(async () => expect(await outgoing(id)).toBe(0))
})

async function outgoing(id: string): Promise<number> {
  await runDurableObjectAlarm(stubOf(id))
  return runInDurableObject(stubOf(id), (_, { storage }) => storage.sql.exec("SELECT seq FROM perdure_outbox").toArray().length)
}

it("a child whose end was ordered before its start came never begins", async () => {
  const id = "overtaken"
  let isReached = false
  let isHeld = true
  network.plan = {
    method: "peerCreate",
    target: `${id}-child`,
    moment: "before",
    strike: async () => {
      isReached = true
      while (isHeld) await pause(5)
      return undefined as never
    },
  }
  const handle = await client.start("parent", { id, input: { waits: true } })
  await until("the child is to be started", () => isReached)
  await handle.terminate("enough")
  await until("the order to end it is sent", () => network.calls.includes(`peerReceive ${id}-child`))
  await pause(50)
  isHeld = false
  await pause(100)
  await expect(client.get(`${id}-child`).status()).rejects.toMatchObject({ code: "NOT_FOUND" })
  expect(runs.get(`${id}-child/work`)).toBe(undefined)
})
