import { type ActivityOptions, type Context, defineActivity, workflow } from "perdure"
import { createWorkflowRunner, type ObjectNamespace } from "perdure/cloudflare"

/** A fault of a call between two objects: `before` the call, or `after` it and before its response arrives. */
export interface CallPlan {
  readonly method: string
  /** The name of an object, or a prefix of names. */
  readonly target: string
  readonly moment: "before" | "after"
  /** Called once, and awaited. A promise that stays pending stands for an object that dies there. */
  strike(): Promise<never>
}

/** The objects of one file share this memory with its tests. */
export const network: { plan: CallPlan | undefined; calls: string[]; down: Set<string> } = { plan: undefined, calls: [], down: new Set() }

export const runs = new Map<string, number>()

function noted<T>(key: string, value: T): T {
  runs.set(key, (runs.get(key) ?? 0) + 1)
  return value
}

const child = workflow("child", async (ctx, { waits }: { waits: boolean }) => {
  const { id } = ctx.instance
  await ctx.do("work", () => noted(`${id}/work`, 1))
  if (waits) await ctx.waitForEvent("go")
  return `result of ${id}`
})

const parent = workflow("parent", async (ctx, { waits }: { waits: boolean }) => {
  const { id } = ctx.instance
  const started = await ctx.startChild(child, { id: `${id}-child`, input: { waits } })
  const result = await started.result()
  return ctx.do("after", () => noted(`${id}/after`, result))
})

interface Job {
  readonly key: string
}

/** The instances at work now, and the largest number so far, by key. Work on a closed key does not end. */
export const inside = { now: new Map<string, Set<string>>(), most: new Map<string, number>(), closed: new Set<string>() }

const limited = (name: string, limit: number) =>
  workflow(name, { concurrency: { limit, key: ({ key }: Job) => key } }, async (ctx, { key }: Job) => {
    const { id } = ctx.instance
    return ctx.do("work", async () => {
      const here = inside.now.get(key) ?? new Set()
      inside.now.set(key, here)
      here.add(id)
      inside.most.set(key, Math.max(inside.most.get(key) ?? 0, here.size))
      do await new Promise((resolve) => setTimeout(resolve, 20))
      while (inside.closed.has(key))
      here.delete(id)
      return noted(`${id}/work`, id)
    })
  })

/** What activities that ran in an object saw, by instance. */
export const seen = new Map<string, unknown[]>()

/** An activity that stays where its workflow is. `fails`: so many attempts. `hangs`: the attempt that does not end, after a heartbeat. */
const build = defineActivity(
  "build",
  async ({ fails = 0, hangs }: { fails?: number; hangs?: number }, { attempt, instance, lastHeartbeat, heartbeat, signal }) => {
    const mine = seen.get(instance) ?? []
    seen.set(instance, mine)
    mine.push([attempt, lastHeartbeat])
    heartbeat({ done: attempt })
    if (attempt === hangs) return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)))
    if (attempt <= fails) throw new Error(`attempt ${attempt}`)
    return `built by ${instance}`
  },
)

const local = workflow("local", async (ctx: Context, options: ActivityOptions) => ctx.activity("build", options))

/** An activity that no object has, so it waits in its queue. */
const remote = workflow("remote", async (ctx: Context, options: ActivityOptions) => {
  try {
    return await ctx.activity("weld", { input: ctx.instance.id, ...options })
  } catch (error) {
    return (error as { cause?: { code?: string; message?: string } }).cause?.code ?? (error as Error).name
  }
})

const Runner = createWorkflowRunner({
  workflows: [child, parent, limited("single", 1), limited("five", 5), local, remote],
  activities: [build],
  taskQueues: ["default", "near"],
  binding: "FAULTY",
  indexShards: 1,
})

export class FaultyRunner extends Runner {
  constructor(state: never, env: never) {
    super(state, { FAULTY: faulty((env as { readonly FAULTY: ObjectNamespace }).FAULTY) } as never)
  }
}

function faulty(real: ObjectNamespace): ObjectNamespace {
  const names = new Map<unknown, string>()
  return {
    idFromName: (name) => {
      const id = real.idFromName(name)
      names.set(id, name)
      return id
    },
    get: (id) => {
      const stub = real.get(id) as Record<string, (...args: unknown[]) => Promise<unknown>>
      return new Proxy(stub, {
        get:
          (_, method: string) =>
          async (...args: unknown[]) => {
            const target = names.get(id) ?? ""
            network.calls.push(`${method} ${target}`)
            if (network.down.has(target)) throw new Error("this object is out of order")
            const plan = network.plan?.method === method && target.startsWith(network.plan.target) ? network.plan : undefined
            if (plan) network.plan = undefined
            if (plan?.moment === "before") await plan.strike()
            const answer = await stub[method]!(...args)
            if (plan) await plan.strike()
            return answer
          },
      })
    },
  }
}
