import { type AnyWorkflow, type Context, workflow } from "perdure"

/** Workflows of a small library, for commands that work on databases. */
export const lend = workflow("lend", async (ctx: Context, input: { readonly book: string }) => {
  const shelf = await ctx.do("fetch", () => `shelf of ${input.book}`)
  await ctx.waitForEvent("returned")
  return shelf
})

export const shelf: readonly AnyWorkflow[] = [lend]

/** The same workflow as the text of a module. `step` renames its step. */
export const lendModule = (step = "fetch") =>
  `export const lend = workflow("lend", async (ctx, input: { book: string }) => {
    const shelf = await ctx.do("${step}", () => \`shelf of \${input.book}\`)
    await ctx.waitForEvent("returned")
    return shelf
  })`
