import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { Engine } from "../../src/index.ts"
import { childValue, ends, type ParentInput, ways } from "./bond-workflows.ts"
import { CrashBed } from "./crash-bed.ts"
import { wholeHistory } from "./findings.ts"
import { killSeries } from "./kill-series.ts"
import { readLedger } from "./ledger.ts"

const long = process.env["LONG"] === "1"
const kills = long ? 100 : 14
const parents = long ? 200 : 40
const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9))

const plans = Array.from({ length: parents }, (_, n): { readonly id: string; readonly input: ParentInput } => ({
  id: `parent-${n}`,
  input: { n, children: (n % 5) + 1, ms: [n % 7, (n * 3) % 20, 0] },
}))

let bed: CrashBed

beforeEach(async () => {
  bed = await CrashBed.open()
})

afterEach(() => bed.close())

describe("parents and children in a worker that is killed again and again", () => {
  it("each child is started exactly once, each result arrives, and each end has its effect", async () => {
    console.log(`kill test of children: ${kills} kills, ${parents} parents, SEED=${seed}`)
    const { engine } = bed.load
    let begun = 0
    const starting: Promise<unknown>[] = []
    const last = await killSeries(bed, kills, seed, (kill) => {
      for (const due = Math.ceil((parents * kill) / kills); begun < due; begun++) {
        const { id, input } = plans[begun]!
        starting.push(engine.start("parent", { id, input, version: "1", allowUnknown: true }))
      }
    })
    await Promise.all(starting)
    const results = await Promise.all(plans.map(({ id }) => engine.get(id).result({ timeout: "60s" })))
    expect(results).toEqual(plans.map(({ input }) => sumOf(input)))
    expect(await problems(engine)).toEqual([])
    expect(last.output).toBe("")
    expect(await last.kill("SIGTERM")).toEqual({ code: 0, signal: null })
    expect(bed.integrity()).toEqual(["ok"])
  })
})

function sumOf({ n, children }: ParentInput): number {
  return Array.from({ length: children }, (_, index) => childValue(ways[(n + index) % ways.length]!, n + index)).reduce((sum, value) => sum + value, 0)
}

/** Violations that the store and the ledger show about children. */
async function problems(engine: Engine): Promise<readonly string[]> {
  const found: string[] = []
  const raised = plans.reduce((sum, { input: { n, children } }) => {
    const grandchildren = Array.from({ length: children }, (_, index) => (ways[(n + index) % ways.length] === "grandchild" ? 1 : 0)).reduce(
      (a, b) => a + b,
      0 as number,
    )
    return sum + children + grandchildren
  }, 0)
  const counted = await engine.count({}, "workflow")
  const expected = { parent: parents, child: raised, bystander: 3 * parents }
  for (const [name, count] of Object.entries(expected)) if (counted[name] !== count) found.push(`there are ${counted[name]} of ${name}, not ${count}`)
  const keys = new Map<string, Set<string>>()
  for (const line of readLedger(bed.folder)) {
    if (line.what !== "begin") continue
    const step = `${line.instance} ${line.step}`
    keys.set(step, (keys.get(step) ?? new Set()).add(line.key))
  }
  // Another incarnation of a child would have other keys.
  for (const [step, used] of keys) if (used.size > 1) found.push(`${step} was begun by ${used.size} incarnations`)
  for (const { id, input } of plans) {
    const history = await wholeHistory(engine, id)
    const ended = history.filter(({ type }) => type === "child.ended").map(({ data }) => data["instance"] as string)
    if (ended.length !== input.children || new Set(ended).size !== ended.length)
      found.push(`${id} heard of the ends of ${ended.join()}, not of ${input.children} children`)
    for (const child of ended) found.push(...(await childProblems(engine, child, id)))
    const statuses = await Promise.all(ends.map((end) => settledStatus(engine, `${id}-${end}`)))
    if (statuses.join() !== "cancelled,terminated,waiting") found.push(`the end of ${id} left its other children ${statuses.join()}`)
  }
  return found
}

async function childProblems(engine: Engine, id: string, parentId: string): Promise<readonly string[]> {
  const { input, parentId: told } = await engine.describe(id)
  const starts = (await wholeHistory(engine, id)).filter(({ type }) => type === "run.started").length
  const letters = (await wholeHistory(engine, id)).filter(({ type }) => type === "event.received").length
  const expected = (input as { way: string }).way === "letter" ? 1 : 0
  return [
    ...(told === parentId ? [] : [`${id} believes to be a child of ${told}, not of ${parentId}`]),
    ...(starts === 1 ? [] : [`${id} was started ${starts} times`]),
    ...(letters === expected ? [] : [`${id} received ${letters} letters, not ${expected}`]),
  ]
}

/** A cancel or a terminate may still be on its way. */
async function settledStatus(engine: Engine, id: string): Promise<string> {
  if (!id.endsWith("abandon"))
    await engine
      .get(id)
      .result({ timeout: "10s" })
      .catch(() => undefined)
  return engine.get(id).status()
}
