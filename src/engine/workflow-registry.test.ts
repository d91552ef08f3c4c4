import { type Context, workflow } from "perdure"
import { memory } from "perdure/testing"
import { expect, it } from "vitest"
import { SimulatedHost } from "../hosts/simulated/simulated-host.ts"
import { Engine } from "./engine.ts"

const run = async (ctx: Context) => ctx.sleep("a", "1h")
const old = workflow("mail", { version: "1" }, run)
const current = workflow("mail", { version: "2" }, run)
const other = workflow("bill", run)

it("an engine lists its workflows with the version that a start by name uses", async () => {
  const engine = await Engine.open({ host: new SimulatedHost({}), store: memory(), workflows: [old, current, other], options: {} })
  expect(await engine.workflows()).toEqual([
    { name: "mail", version: "2", versions: ["1", "2"] },
    { name: "bill", version: "1", versions: ["1"] },
  ])
  await engine.close()
})

it("an engine without workflows lists the workflows of the stored instances", async () => {
  const store = memory()
  const host = new SimulatedHost({})
  const worker = await Engine.open({ host, store, workflows: [old, current, other], options: {} })
  const client = await Engine.open({ host, store, workflows: [], options: {}, role: "client" })
  expect(await client.workflows()).toEqual([])
  await worker.start("mail", { id: "a" })
  await worker.start("bill", { id: "b" })
  expect(await client.workflows()).toEqual([
    { name: "bill", version: "1", versions: ["1"] },
    { name: "mail", version: "2", versions: ["2"] },
  ])
  await client.close()
  await worker.close()
})
