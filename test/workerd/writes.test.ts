import { workflow } from "perdure"
import { createWorkflowRunner } from "perdure/cloudflare"
import { expect, it } from "vitest"
import { inBareObject } from "./bare-object.ts"

const one = workflow("one", async (ctx) => ctx.do("work", async () => 1))

const Runner = createWorkflowRunner({ workflows: [one], indexShards: 1 })

/** The updates of the object get no response. */
const nobody = { idFromName: (name: string) => name, get: () => ({ indexWrite: () => new Promise(() => undefined) }) }

it("an instance of one step is two writes of its object: its tables, its alarm and its first turn, and what came of the step", async () => {
  const groups = await inBareObject(async (state) => {
    const { storage } = state
    const groups: string[] = []
    const note = (kind: string) => void (groups.at(-1) === kind || groups.push(kind))
    const watched = {
      sql: {
        exec: (query: string, ...values: never[]) => {
          if (/^\s*(?:CREATE|INSERT|UPDATE|DELETE)/.test(query)) note("writes")
          return storage.sql.exec(query, ...values)
        },
      },
      transactionSync: <T>(fn: () => T) => storage.transactionSync(fn),
      setAlarm: (at: number) => {
        note("writes")
        return storage.setAlarm(at)
      },
      deleteAll: () => storage.deleteAll(),
      sync: () => {
        note("waits")
        return storage.sync()
      },
    }
    const id = state.id.name ?? ""
    const object = new Runner(Object.defineProperty(state, "storage", { value: watched }) as never, { WORKFLOW_RUNNER: nobody } as never)
    await object.initialize({ type: "one", id })
    await object.ask(id, "result", "[1000]")
    await storage.deleteAlarm()
    return groups
  })
  expect(groups).toEqual(["waits", "writes", "waits", "writes"])
})
