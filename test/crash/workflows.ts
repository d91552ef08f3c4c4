import { type AnyWorkflow, type Context, PerdureError, type RetryOptions, workflow } from "../../src/index.ts"
import type { Ledger } from "./ledger.ts"
import type { PhaseMarks } from "./phases.ts"
import { Scene } from "./scene.ts"

export interface SceneInput {
  readonly n: number
  /** The duration of each piece of work, in milliseconds. */
  readonly ms: readonly number[]
  /** The durations of sleeps and timeouts. */
  readonly napMs: readonly number[]
  /** How many attempts fail of steps that fail at first. */
  readonly failures: number
}

type Part = (scene: Scene, input: SceneInput) => Promise<number>

const always = Number.MAX_SAFE_INTEGER
const soon = (maxAttempts: number): RetryOptions => ({ maxAttempts, initialInterval: 15, backoff: "fixed", jitter: 0 })

/** The races: for each name under which an outcome is recorded, the steps of which the first to settle decides. */
export const races: Readonly<Record<string, readonly string[]>> = {
  winner: ["runner", "limit", "flag"],
  second: ["any-a", "any-b"],
}

const chain: Part = async (scene, { n, ms }) => {
  let value = n
  for (let i = 0; i < 4; i++) value = await scene.step({ name: `link-${i}`, ms: ms[i]!, value: value * 3 + i })
  return value
}

const retries: Part = async (scene, { n, ms, failures }) => {
  const flaky = await scene.step({ name: "flaky", ms: ms[0]!, value: n + 1, failures, retry: soon(failures + 1) })
  try {
    await scene.step({ name: "hopeless", ms: ms[1]!, value: 0, failures: always, retry: soon(2) })
    scene.saw("hope", "none was lost")
  } catch (error) {
    scene.saw("hope", PerdureError.is(error, "STEP_FAILED") ? "lost" : String(error))
  }
  return scene.step({ name: "last-try", ms: ms[2]!, value: flaky * 2 })
}

const sleeper: Part = async (scene, { n, ms, napMs }) => {
  await scene.sleep("nap-1", napMs[0]!)
  const value = await scene.step({ name: "wake-1", ms: ms[0]!, value: n + 5 })
  await scene.sleep("nap-2", napMs[1]!)
  return scene.step({ name: "wake-2", ms: ms[1]!, value: value + 7 })
}

const collector: Part = async (scene, { n, ms, napMs }) => {
  let value = n
  for (let i = 0; i < 3; i++) {
    value = value * 7 + (await scene.event(`item-${i}`, "item"))
    if (i < 2) await scene.step({ name: `put-${i}`, ms: ms[i]!, value })
  }
  const inTime = (await scene.ctx.waitForEvent("go", { timeout: napMs[0]!, default: -1 })) as number
  scene.saw("go", inTime)
  const go = inTime === -1 ? await scene.event("late-go", "go") : inTime
  return scene.step({ name: "close", ms: ms[2]!, value: value + go })
}

const racer: Part = async (scene, { n, ms, napMs }) => {
  const flag = scene.event("flag", "flag")
  const runner = scene.step({ name: "runner", ms: ms[0]!, value: 0 })
  const limit = scene.sleep("limit", napMs[0]!)
  scene.saw("winner", await Promise.race([runner.then(() => "runner"), limit.then(() => "limit"), flag.then(() => "flag")]))
  const value = await scene.step({ name: "after-race", ms: ms[1]!, value: n * 2 })
  const broken = scene.step({ name: "any-broken", ms: 0, value: 0, failures: always, retry: soon(1) })
  const a = scene.step({ name: "any-a", ms: ms[2]!, value: 0 })
  const b = scene.step({ name: "any-b", ms: ms[3]!, value: 0 })
  scene.saw("second", await Promise.any([broken.then(() => "any-broken"), a.then(() => "any-a"), b.then(() => "any-b")]))
  return scene.step({ name: "finale", ms: ms[4]!, value: value + (await flag) })
}

const nester: Part = async (scene, { n, ms, napMs, failures }) => {
  const { ctx, ledger } = scene
  const seen = scene.seen
  const held: Record<string, unknown> = {}
  const hold = (step: string, value: unknown) => {
    ledger.write({ what: "held", instance: ctx.instance.id, step, value })
    held[step] = value
  }
  const outer = await ctx.do(
    "outer",
    scene.fn("outer", { ms: 0, value: n }, seen, async ({ step }) => {
      for (const key of Object.keys(held)) delete held[key]
      const given = () => ({ ...seen, ...held })
      const a = await step.do("a", scene.fn("outer/a", { ms: ms[0]!, value: n + 1 }, given()))
      hold("outer/a", a.nonce)
      await step.sleep("nap", napMs[1]!)
      hold("outer/nap", "slept")
      const b = await step.do(
        "b",
        scene.fn("outer/b", { ms: ms[1]!, value: n, failures }, given(), async (inner) => {
          const deep = await inner.step.do("deep", scene.fn("outer/b/deep", { ms: ms[2]!, value: n + 2 }, given()))
          ledger.write({ what: "held", instance: ctx.instance.id, step: "outer/b/deep", value: deep.nonce })
          return deep.value
        }),
        { retry: soon(failures + 1) },
      )
      hold("outer/b", b.nonce)
      const all = given()
      const [c, d] = await Promise.all([
        step.do("c", scene.fn("outer/c", { ms: ms[3]!, value: 3 }, all)),
        step.do("d", scene.fn("outer/d", { ms: ms[4]!, value: 4 }, all)),
      ])
      hold("outer/c", c.nonce)
      hold("outer/d", d.nonce)
      const poke = (await step.waitForEvent("poke")) as number
      hold("outer/poke", poke)
      return a.value + b.value + c.value + d.value + poke
    }),
  )
  return outer.value
}

const fan: Part = async (scene, { n, ms }) => {
  const branch = async (i: number) => {
    const left = await scene.step({ name: `left-${i}`, ms: ms[i]!, value: n + i })
    return scene.step({ name: `right-${i}`, ms: ms[i + 2]!, value: left * 2 })
  }
  const sum = (await Promise.all([branch(0), branch(1), branch(2)])).reduce((total, value) => total + value, 0)
  const settled = await Promise.allSettled([
    scene.step({ name: "sound", ms: ms[0]!, value: 1 }),
    scene.step({ name: "unsound", ms: ms[1]!, value: 0, failures: always, retry: soon(1) }),
  ])
  scene.saw("settled", settled.map(({ status }) => status).join())
  return scene.step({ name: "total", ms: ms[2]!, value: sum + 1 })
}

const mixed: Part = async (scene, input) => (await retries(scene, input)) + (await nester(scene, input)) + (await racer(scene, input))

const parts = { chain, retries, sleeper, collector, racer, nester, fan, mixed }
export type PartName = keyof typeof parts

/** The workflows of the kill test. Their steps write to the ledger. */
export function sceneWorkflows(ledger: Ledger, marks: PhaseMarks): readonly AnyWorkflow[] {
  return Object.entries(parts).map(([name, part]) =>
    workflow(name, async (ctx: Context, input: SceneInput) => {
      const scene = new Scene(ctx, ledger, marks)
      return scene.result(await part(scene, input))
    }),
  )
}
