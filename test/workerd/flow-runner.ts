import { workflow } from "perdure"
import { createWorkflowRunner } from "perdure/cloudflare"

/** The instances inside their step, the largest number so far, and the keys whose steps do not end, by key. All objects of one file share this memory. */
export const inside = {
  now: new Map<string, Set<string>>(),
  most: new Map<string, number>(),
  started: [] as { id: string; input: unknown }[],
  closed: new Set<string>(),
  /** Names of objects that do not receive changed limits. */
  deaf: new Set<string>(),
}

function enter(key: string, id: string): () => void {
  const here = inside.now.get(key) ?? new Set()
  inside.now.set(key, here)
  here.add(id)
  inside.most.set(key, Math.max(inside.most.get(key) ?? 0, here.size))
  return () => here.delete(id)
}

interface Job {
  readonly key: string
}

const held =
  (ctx: { readonly instance: { readonly id: string } }, { key }: Job) =>
  async () => {
    const leave = enter(key, ctx.instance.id)
    do await new Promise((resolve) => setTimeout(resolve, 10))
    while (inside.closed.has(key))
    leave()
    return key
  }

const five = workflow("five", { concurrency: { limit: 5, key: ({ key }: Job) => key } }, async (ctx, job: Job) => ctx.do("work", held(ctx, job)))

/** One instance of each key at a time, and two in all. */
const nested = workflow(
  "nested",
  {
    concurrency: [
      { name: "each", limit: 1, key: ({ key }: Job) => key },
      { name: "all", limit: 2 },
    ],
  },
  async (ctx, job: Job) => {
    await ctx.do("work", held(ctx, job))
  },
)

const sleepy = workflow("sleepy", { concurrency: 1 }, async (ctx, job: Job) => {
  await ctx.do("before", held(ctx, job))
  await ctx.waitForEvent("go")
  await ctx.do("after", held(ctx, job))
})

const paced = workflow("paced", { rateLimit: { limit: 2, per: "1s" } }, async (ctx) => {
  await ctx.do("work", () => inside.started.push({ id: ctx.instance.id, input: undefined }))
})

const only = workflow("only", { singleton: { key: ({ key }: Job) => key } }, async (ctx, _job: Job) => {
  await ctx.waitForEvent("go")
})

const calm = workflow("calm", { debounce: { quiet: "3s", key: ({ key }: Job & { text: string }) => key } }, async (ctx, job: Job & { text: string }) => {
  await ctx.do("work", () => inside.started.push({ id: ctx.instance.id, input: job.text }))
})

const plain = workflow("plain", async (ctx, input: string) => ctx.do("echo", () => input))

const calmList = workflow("calm-list", async (_ctx, input: string) => input)

const Runner = createWorkflowRunner({
  workflows: [five, nested, sleepy, paced, only, calm, plain, calmList],
  binding: "FLOW_RUNNER",
  indexShards: 1,
})

export class FlowRunner extends Runner {
  override async limitsChanged(token: string, news: { readonly revision: number }): Promise<boolean> {
    const { ctx } = this as unknown as { readonly ctx: { readonly id: { readonly name?: string } } }
    if (inside.deaf.has(ctx.id.name ?? "")) throw new Error("this key is out of order")
    return super.limitsChanged(token, news)
  }
}
