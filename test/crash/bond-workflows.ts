import { type AnyWorkflow, type Context, workflow } from "../../src/index.ts"
import type { Ledger } from "./ledger.ts"
import type { PhaseMarks } from "./phases.ts"
import { type Outcome, Scene } from "./scene.ts"

export interface ParentInput {
  readonly n: number
  readonly children: number
  /** How long each piece of work takes, in milliseconds. */
  readonly ms: readonly number[]
}

export interface ChildInput {
  readonly n: number
  readonly ms: number
  /** How the child ends: at once, after steps, after a letter from its parent, after a child of its own, or with a failure. */
  readonly way: "at once" | "steps" | "letter" | "grandchild" | "failure"
}

export const ways: readonly ChildInput["way"][] = ["steps", "letter", "at once", "grandchild", "failure"]
export const ends = ["cancel", "terminate", "abandon"] as const

/** The expected result of a child, computed by hand. Its parent counts a failure as -1. */
export const childValue = (way: ChildInput["way"], n: number): number => ({ "at once": n, steps: n + 3, letter: n + 20, grandchild: n + 4, failure: -1 })[way]

export interface Deposit extends Outcome {
  readonly balance: number
}

/** Workflows of the kill tests about children and updates. Their steps write to the ledger. */
export function bondWorkflows(ledger: Ledger, marks: PhaseMarks): readonly AnyWorkflow[] {
  const child = workflow("child", async (ctx: Context<{ letter: number }>, { n, ms, way }: ChildInput): Promise<number> => {
    if (way === "at once") return n
    const scene = new Scene(ctx, ledger, marks)
    const one = await scene.step({ name: "one", ms, value: n + 1 })
    if (way === "failure") throw new RangeError(`child ${n} fails`)
    if (way === "letter") return one + (await ctx.waitForEvent("letter"))
    if (way === "grandchild") return 1 + (await ctx.runChild(child, { input: { n, ms, way: "steps" } }))
    return scene.step({ name: "two", ms, value: one + 2 })
  })
  const bystander = workflow("bystander", async (ctx: Context) => ctx.waitForEvent("never"))
  const parent = workflow("parent", async (ctx: Context, { n, children, ms }: ParentInput) => {
    const scene = new Scene(ctx, ledger, marks)
    for (const onParentEnd of ends) await ctx.startChild(bystander, { id: `${ctx.instance.id}-${onParentEnd}`, onParentEnd })
    const raise = async (index: number): Promise<number> => {
      const way = ways[(n + index) % ways.length]!
      const options = { input: { n: n + index, ms: ms[index % ms.length]!, way } }
      const started = await ctx.startChild(child, index % 2 === 0 ? options : { ...options, id: `${ctx.instance.id}-own-${index}` })
      if (way === "letter") await started.sendEvent("letter", 19)
      return started.result().catch(() => -1)
    }
    const values = await Promise.all(Array.from({ length: children }, (_, index) => raise(index)))
    return scene.step({ name: "sum", ms: ms[0]!, value: values.reduce((sum, value) => sum + value, 0) })
  })
  const account = workflow("account", async (ctx: Context) => {
    const scene = new Scene(ctx, ledger, marks)
    let balance = 0
    const validate = (amount: number) => {
      if (amount < 0) throw new RangeError(`${amount} is no amount`)
    }
    ctx.setUpdateHandler("deposit", { validate }, async (amount: number, ms: number): Promise<Deposit> => {
      const outcome = await ctx.do("deposit", scene.fn("deposit", { ms, value: amount }, {}))
      balance += outcome.value
      if (amount % 10 === 7) throw new RangeError(`${amount} is booked, and brings bad luck`)
      return { ...outcome, balance }
    })
    await ctx.waitForEvent("close")
    return balance
  })
  return [child, bystander, parent, account]
}
