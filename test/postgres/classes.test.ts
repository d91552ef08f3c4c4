// Workflows as classes in a cluster: another worker continues an instance with its own object of the class.

import { BaseWorkflow, eventSchema, type Step } from "perdure"
import { afterAll, afterEach, expect, it } from "vitest"
import { TestDatabase } from "../../tools/postgres/test-database.ts"
import { ClusterBed } from "./cluster-bed.ts"

const database = new TestDatabase(20)
const bed = new ClusterBed(database)
afterEach(() => bed.close())
afterAll(() => database.drop())

const lease = 30_000
const executed: string[] = []

class Payment extends BaseWorkflow<{ readonly amount: number }, string> {
  static readonly type = "payment" as const

  async run(step: Step, { amount }: { readonly amount: number }): Promise<string> {
    return step.do("pay", async () => {
      executed.push(`pay ${amount}`)
      return `paid ${amount}`
    })
  }
}

interface Events {
  approval: { readonly approved: boolean }
}

class Order extends BaseWorkflow<{ readonly amount: number }, string, Events> {
  static readonly type = "order" as const
  static readonly events = { approval: eventSchema<{ readonly approved: boolean }>() }

  #total = 0

  async run(step: Step<Events>, { amount }: { readonly amount: number }): Promise<string> {
    this.#total = await step.do("add tax", async () => {
      executed.push(`tax ${amount}`)
      return amount + 1
    })
    const { approved } = await step.waitForEvent("approval", { timeout: "1d" })
    await step.sleep("pause", "5s")
    const payment = await this.ctx.runChild(Payment.definition(), { input: { amount: this.#total } })
    return `${approved} ${payment}`
  }
}

it("a class is woken by its event, taken over after a crash, and goes on with its fields and its child", async () => {
  executed.length = 0
  const { engines, settle, skip } = await bed.open([Order.definition(), Payment.definition()], ["worker", "worker", "client"], { lease })
  const [first, second, client] = [engines[0]!, engines[1]!, engines[2]!]
  await Order.create(first, { id: "o", payload: { amount: 41 } })
  await settle()
  expect(await Order.status(client, "o")).toBe("waiting")
  await Order.sendEvent(client, "o", "approval", { approved: true })
  while ((await Order.status(client, "o")) !== "sleeping") await settle()
  first.kill()
  await skip(2 * lease)
  expect(await Order.get(client, "o").result()).toBe("true paid 42")
  expect(executed).toEqual(["tax 41", "pay 42"])
  const { entries } = await second.get("o").history()
  expect(entries.map(({ type }) => type)).toContain("recovered")
})

it("a class that a client starts is executed by a worker, and the client is told of its result", async () => {
  executed.length = 0
  const { engines } = await bed.open([Payment.definition()], ["worker", "client"])
  expect(await (await Payment.create(engines[1]!, { payload: { amount: 7 } })).result()).toBe("paid 7")
  expect(executed).toEqual(["pay 7"])
})
