import { join } from "node:path"
import { Perdure, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { type OpenPeer, sleepMs } from "../adapter.ts"
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

export const open: OpenPeer = async ({ folder }) => {
  const engine = await Perdure.open({ store: sqlite(join(folder, "bench.db")), workflows: Object.values(workflows) })
  return {
    start: (kind, input) => (kind === "listener" ? engine.start(listener, { id: `listener-${input}`, input }) : engine.start(workflows[kind], { input })),
    sendEvent: (number, value) =>
      engine
        .get(listener, `listener-${number}`)
        .sendEvent("go", value)
        .then(() => {}),
    close: () => engine.close(),
  }
}
