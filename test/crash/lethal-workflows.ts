import { existsSync } from "node:fs"
import { join } from "node:path"
import { type AnyWorkflow, type Context, workflow } from "../../src/index.ts"
import type { Ledger } from "./ledger.ts"
import type { PhaseMarks } from "./phases.ts"
import { Scene } from "./scene.ts"

/** While the folder has no file of this name, the step `lethal` kills the process that runs it. */
export const remedy = "remedy"

/** Workflows of the smaller crash tests. */
export function lethalWorkflows(folder: string, ledger: Ledger, marks: PhaseMarks): readonly AnyWorkflow[] {
  const scene = (ctx: Context) => new Scene(ctx, ledger, marks)
  return [
    workflow("lethal", async (ctx: Context, input: { readonly n: number }) => {
      const play = scene(ctx)
      const before = await play.step({ name: "before", ms: 0, value: input.n })
      const lethal = play.fn("lethal", { ms: 0, value: before + 1 }, play.seen, async () => {
        while (!existsSync(join(folder, remedy))) process.kill(process.pid, "SIGKILL")
        return 0
      })
      return (await ctx.do("lethal", lethal)).value
    }),
    workflow("long", async (ctx: Context, input: { readonly ms: readonly number[] }) => {
      const play = scene(ctx)
      let value = 0
      for (const [i, ms] of input.ms.entries()) value = await play.step({ name: `part-${i}`, ms, value: value + 1 })
      return value
    }),
    workflow("patient", async (ctx: Context) => scene(ctx).event("word", "word")),
  ]
}
