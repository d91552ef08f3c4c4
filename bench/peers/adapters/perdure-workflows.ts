// What is the same for Perdure on each of its stores.

import { type Engine, Perdure, type StoreProvider, workflow } from "perdure"
import { type Peer, sleepMs } from "../adapter.ts"
import { ring } from "../doorbell.ts"

const sequence = workflow("sequence", async (ctx, steps: number) => {
  for (let i = 0; i < steps; i++) await ctx.do("step", async () => ({ i }))
  return steps
})

const fan = workflow("fan", async (ctx, steps: number) => {
  await Promise.all(Array.from({ length: steps }, (_, i) => ctx.do("step", async () => ({ i }))))
  return steps
})

const listener = workflow<number, number, { go: number }>("listener", async (ctx, number) => {
  ring(number)
  return ctx.waitForEvent("go")
})

const sleeper = workflow("sleeper", async (ctx, number: number) => {
  ring(number)
  await ctx.sleep("nap", sleepMs)
  return Date.now()
})

const workflows = { sequence, fan, listener, sleeper }

export const openPerdure = (store: StoreProvider, role?: "client") =>
  Perdure.open({ store, workflows: Object.values(workflows), ...(role === undefined ? {} : { role }) })

export const sendTo = (engine: Engine, number: number, value: number) => engine.get(listener, `listener-${number}`).sendEvent("go", value)

export async function perdurePeer(store: StoreProvider, afterwards: () => Promise<void> = async () => {}): Promise<Peer> {
  const engine = await openPerdure(store)
  return {
    start: (kind, input) => (kind === "listener" ? engine.start(listener, { id: `listener-${input}`, input }) : engine.start(workflows[kind], { input })),
    sendEvent: (number, value) => sendTo(engine, number, value),
    async close() {
      await engine.close()
      await afterwards()
    },
  }
}
