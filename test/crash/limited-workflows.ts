import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { type AnyWorkflow, type Context, workflow } from "../../src/index.ts"
import type { PhaseMarks } from "./phases.ts"

export interface LimitedInput {
  readonly key: string
  /** The duration of each step, and of each sleep between two steps. */
  readonly ms: readonly number[]
}

export const limits = { all: 4, each: 2 }
const options = { concurrency: [limits.all, { limit: limits.each, key: (input: LimitedInput) => input.key }] }

/** The workflow as a client defines it: with its limits, and without its code. */
export const limitedDefinition = workflow("limited", options, async (_ctx: Context, _input: LimitedInput) =>
  Promise.reject(new Error("a client executes nothing")),
)

const exceededFile = (folder: string) => join(folder, "exceeded")

/** The violations of limits that steps have seen. */
export function readExceeded(folder: string): string {
  const path = exceededFile(folder)
  return existsSync(path) ? readFileSync(path, "utf8") : ""
}

/** The steps of one process count one another: no other process executes at the same time. */
export function limitedWorkflows(folder: string, marks: PhaseMarks): readonly AnyWorkflow[] {
  const inside = new Map<string, number>()
  const change = (key: string, by: number, max: number) => {
    const now = (inside.get(key) ?? 0) + by
    inside.set(key, now)
    if (now > max) appendFileSync(exceededFile(folder), `${now} of ${key}\n`)
  }
  const work = async (key: string, ms: number) => {
    marks.enter("step")
    change("all", 1, limits.all)
    change(key, 1, limits.each)
    await delay(ms)
    change(key, -1, limits.each)
    change("all", -1, limits.all)
    marks.leave("step")
  }
  return [
    workflow("limited", options, async (ctx: Context, input: LimitedInput) => {
      for (const [index, ms] of input.ms.entries()) {
        if (index > 0) await ctx.sleep(`nap-${index}`, ms)
        await ctx.do(`work-${index}`, () => work(input.key, ms))
      }
      return input.ms.length
    }),
  ]
}
