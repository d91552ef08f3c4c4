import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { workflowClient, type WorkflowRunnerObject } from "perdure/cloudflare"
import { describe, expect, it, vi } from "vitest"
import { decodeAnswer, encodeCall } from "../../src/cloudflare/objects/instance-rpc-methods.ts"
import { uniqueKeyUse } from "../../src/stores/shared/flow-rows.ts"
import { soon } from "./eventually.ts"
import { FlowRunner, inside } from "./flow-runner.ts"

const { FLOW_RUNNER } = env as { readonly FLOW_RUNNER: DurableObjectNamespace }
const client = workflowClient(FLOW_RUNNER)
const stubOf = (name: string) => FLOW_RUNNER.get(FLOW_RUNNER.idFromName(name))
const limitOf = (key: string) => stubOf(`@limit:!singleton/only/${key}`)
const membersOf = (key: string) => runInDurableObject(limitOf(key), (_, { storage }) => storage.sql.exec("SELECT id, slot FROM perdure_limit_member").toArray())
const start = (id: string, key: string) => client.start("only", { id, input: { key } })

/** The prototype with the methods of the object. */
const methods = FlowRunner.prototype

/** The key gives the instance its slot, and the message is lost. */
async function lastWordsOf(id: string, key: string): Promise<void> {
  const asked = vi.fn<() => void>()
  const ask = Reflect.get(methods, "slotAsk") as (this: WorkflowRunnerObject, slot: unknown) => Promise<unknown>
  const spy = vi.spyOn(methods, "slotAsk").mockImplementation(async function (this: WorkflowRunnerObject, slot) {
    await ask.call(this, slot)
    asked()
    return new Promise(() => undefined)
  })
  void start(id, key).catch(() => undefined)
  await soon(() => expect(asked).toHaveBeenCalled())
  spy.mockRestore()
}

const crash = (name: string) => runInDurableObject(stubOf(name), (_, state) => state.abort("gone")).catch(() => undefined)

describe("a key that one instance has to itself", () => {
  it("is not lost by the same start again", async () => {
    await start("again", "again")
    expect((await client.start("only", { id: "again", input: { key: "again" }, ifExists: "return" })).id).toBe("again")
    await expect(start("second", "again")).rejects.toMatchObject({ code: "SINGLETON_EXISTS" })
    await client.get("again").sendEvent("go")
    await client.get("again").result()
    await soon(() => start("second", "again"))
  })

  it("is given back by an instance that was started many times at once", async () => {
    const started = await Promise.all(Array.from({ length: 5 }, () => client.start("only", { id: "crowd", input: { key: "crowd" }, ifExists: "return" })))
    expect(new Set(started.map(({ id }) => id))).toEqual(new Set(["crowd"]))
    await client.get("crowd").sendEvent("go")
    await client.get("crowd").result()
    await soon(async () => expect(await membersOf("crowd")).toEqual([]))
  })

  it("is asked for by sendOrStart, too", async () => {
    await start("holder", "sent")
    const sendOrStart = (id: string) => client.sendOrStart("only", { id, input: { key: "sent" }, event: "go", payload: undefined })
    await expect(sendOrStart("other")).rejects.toMatchObject({ code: "SINGLETON_EXISTS", details: { instance: "holder" } })
    await expect(client.get("other").status()).rejects.toMatchObject({ code: "NOT_FOUND" })
    await sendOrStart("holder")
    await client.get("holder").result()
    await soon(() => sendOrStart("other"))
    await client.get("other").result()
    await soon(async () => expect(await membersOf("sent")).toEqual([]))
  })

  it("goes back if the object goes before it hears that it has the key", async () => {
    await lastWordsOf("dead", "dead")
    await crash("dead")
    await crash("@limit:!singleton/only/dead")
    expect(await membersOf("dead")).toEqual([{ id: "dead", slot: 1 }])
    // The alarm would wake the object later.
    expect(await runDurableObjectAlarm(stubOf("dead"))).toBe(true)
    await soon(() => start("alive", "dead"))
  })

  it("is taken from one that does not know of it, once another is refused", async () => {
    const use = uniqueKeyUse({ kind: "singleton", key: "only/ghost" })
    const ask = { id: "ghost", incarnation: "i", priority: 0, use }
    await (limitOf("ghost") as unknown as WorkflowRunnerObject).slotAsk(ask)
    await runInDurableObject(limitOf("ghost"), (_, { storage }) => storage.sql.exec("UPDATE perdure_limit_member SET seen_at = 0").toArray())
    await soon(() => start("patient", "ghost"))
    expect(await membersOf("ghost")).toEqual([{ id: "patient", slot: 1 }])
  })
})

describe("an object", () => {
  it("whose name the alarm does not tell knows by its tables that it is a schedule", async () => {
    const stub = FLOW_RUNNER.get((FLOW_RUNNER as unknown as { newUniqueId(): never }).newUniqueId())
    const schedule = stub as unknown as WorkflowRunnerObject
    const call = async (method: string, ...args: unknown[]) => decodeAnswer(await schedule.askSchedule("nameless", method, encodeCall(args)))
    await call("create", { workflow: "plain", every: "1h" })
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(await call("describe")).toMatchObject({ id: "nameless" })
    expect(await runInDurableObject(stub, (_, { storage }) => storage.getAlarm())).toBeGreaterThan(Date.now())
  })

  it("takes no instance of another name", async () => {
    await runInDurableObject(stubOf("a"), async (object) => {
      const initializing = (object as unknown as WorkflowRunnerObject).initialize({ type: "plain", id: "b", payload: "x" })
      await expect(initializing).rejects.toMatchObject({ code: "BAD_ID", details: { id: "b", object: "a" } })
    })
    await expect(client.get("b").status()).rejects.toMatchObject({ code: "NOT_FOUND" })
  })

  it("knows its instance also while another asks for it before it is there", async () => {
    const created = vi.spyOn(methods, "peerCreate")
    await runInDurableObject(stubOf("early"), async (object) => {
      const runner = object as unknown as WorkflowRunnerObject
      const initializing = runner.initialize({ type: "only", id: "early", payload: { key: "early" } })
      expect(await runner.peerGet("early")).toBeUndefined()
      expect(await initializing).toEqual({ id: "early" })
    })
    expect(created).not.toHaveBeenCalled()
    created.mockRestore()
    expect(await membersOf("early")).toEqual([{ id: "early", slot: 1 }])
  })

  it("does not begin an instance of a schedule once more that was deleted", async () => {
    const created = vi.spyOn(methods, "peerCreate")
    await client.schedules.create("once", { workflow: "plain", every: "1h", input: "x" })
    const triggered = await client.schedules.get("once").trigger()
    await triggered.result()
    const turn = created.mock.calls.map(([order]) => order).find(({ instance }) => instance === triggered.id)
    created.mockRestore()
    if (turn === undefined) throw new Error("nothing was ordered")
    await triggered.delete()
    expect(await (stubOf(triggered.id) as unknown as WorkflowRunnerObject).peerCreate(structuredClone(turn))).toBe("lost")
    await expect(triggered.status()).rejects.toMatchObject({ code: "NOT_FOUND" })
    await soon(async () => expect((await client.list({ idPrefix: triggered.id })).instances).toEqual([]))
  })

  it("sets its alarm also for what is centuries away", async () => {
    await client.start("plain", { id: "far", input: "x", startAt: new Date(8.64e15) })
    const at = await runInDurableObject(stubOf("far"), (_, { storage }) => storage.getAlarm())
    expect(at).toBeGreaterThan(Date.now())
    expect(await client.get("far").status()).toBe("queued")
    expect(inside.started.some(({ id }) => id === "far")).toBe(false)
  })

  it("writes in no transaction of somebody else's", async () => {
    const transaction = { query: async () => ({ rows: [], rowCount: 0 }) } as never
    await expect(client.start("plain", { id: "tx", input: "x", transaction })).rejects.toMatchObject({ code: "NO_TRANSACTIONS" })
    await expect(client.startBatch([{ workflow: "plain", id: "tx", input: "x" }], { transaction })).rejects.toMatchObject({ code: "NO_TRANSACTIONS" })
    await expect(client.get("tx").status()).rejects.toMatchObject({ code: "NOT_FOUND" })
  })
})
