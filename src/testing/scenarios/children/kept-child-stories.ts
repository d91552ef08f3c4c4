import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { PerdureError } from "../../../core/errors.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Engine } from "../../../engine/engine.ts"
import type { StoreProvider } from "../../../ports/store.ts"
import { overriding } from "../../../engine/method-overrides.ts"
import { Gate } from "../gate.ts"
import { noticed } from "../other-process.ts"
import { entriesSeen, type OpenBed } from "../scenario-bed.ts"

const patient = workflow("patient", async (ctx: Context) => ctx.waitForEvent("word"))
const parent = workflow("parent", async (ctx) => {
  const child = await ctx.startChild(patient, { id: "c", onParentEnd: "abandon" })
  await ctx.do("note", () => 1)
  return child.result()
})

/** A client whose first turn waits at a gate. The client dies once the turn is written. */
async function dyingClient(provider: StoreProvider, host: Engine["components"]["worker"]["host"]) {
  const [gate, reached] = [new Gate(), new Gate()]
  const store: StoreProvider = {
    name: provider.name,
    open: async (context) => {
      const inner = await provider.open(context)
      const { journal } = inner
      const commit: typeof journal.commit = async (turns) => {
        reached.open()
        await gate.passed
        await journal.commit(turns)
        dead.open()
        return new Promise(() => undefined)
      }
      return overriding(inner, { journal: overriding(journal, { commit }) })
    },
  }
  const dead = new Gate()
  const client = await Engine.open({ host, store, workflows: [], options: {}, role: "client" })
  return { client, gate, reached, dead }
}

export function keptChildStories(open: OpenBed): void {
  describe("a child whose start came to no known end", () => {
    it.each(["cancel", "terminate", "abandon"] as const)("has the end that was asked for when its parent is over: %s", async (onParentEnd) => {
      const unsure = workflow("unsure", async (ctx) => {
        const code = await ctx.startChild(patient, { id: "c", onParentEnd }).catch((error: unknown) => (error as { code: string }).code)
        await ctx.sleep("nap", "1h")
        return code
      })
      const engine = await open({
        workflows: [unsure, patient],
        interceptors: [
          // The child is started, but its parent gets no answer, and the parent's next attempt is refused.
          async ({ id, attempt }, next) => {
            if (id !== "c") return next()
            if (attempt > 1) throw new PerdureError("INVALID_INPUT", "the schema is another now")
            await next()
            throw new Error("no answer")
          },
        ],
      })
      const handle = await engine.start(unsure, { id: "p" })
      await engine.skip("10m")
      expect([await handle.status(), await engine.get("c").status()]).toEqual(["sleeping", "waiting"])
      await engine.crash()
      await engine.skip("1h")
      expect(await handle.result()).toBe("INVALID_INPUT")
      expect(await engine.get("c").status()).toBe({ cancel: "cancelled", terminate: "terminated", abandon: "waiting" }[onParentEnd])
    })
  })

  describe("a child that ends just when a restart keeps it, whose process dies then", () => {
    it.each(["paused", "terminated"] as const)("is heard of by the new run of a parent that was %s", async (status) => {
      const engine = await open({ workflows: [parent, patient] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      await (status === "paused" ? handle.pause() : handle.terminate())
      await engine.settle()
      const { client, gate, reached, dead } = await dyingClient(engine.sharedStore, engine.host)
      void client
        .get("p")
        .restart({ from: "note" })
        .catch(() => undefined)
      await reached.passed
      await engine.sendEvent("c", "word", "at that moment")
      gate.open()
      await dead.passed
      client.kill()
      await noticed(engine)
      expect(await handle.describe()).toMatchObject({ status: "completed", run: 2, result: "at that moment" })
      expect((await entriesSeen(handle, 2)).filter((type) => type === "child.ended")).toHaveLength(1)
      await engine.crash()
      expect(await handle.result()).toBe("at that moment")
    })
  })
}
