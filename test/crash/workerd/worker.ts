// The Worker that is killed: workflows that tell whoever watches what they do, and a few routes.

import { workflow } from "../../../src/index.ts"
import { createWorkflowRunner, workflowClient, type ObjectNamespace } from "../../../src/cloudflare.ts"

/** Whoever watches is outside: what it has heard of happened. */
async function tell(instance: string, step: string): Promise<void> {
  await fetch(`http://ledger/${instance}/${step}`)
}

const leaf = workflow("leaf", async (ctx, { n }: { n: number }) => {
  await ctx.do("work", () => tell(ctx.instance.id, "work"))
  return n * 10
})

/** Steps, a short sleep, a child, a sleep that is longer than the object is kept, and an end. */
const chain = workflow("chain", async (ctx, { n, sleepMs }: { n: number; sleepMs: number }) => {
  const { id } = ctx.instance
  let sum = 0
  for (let at = 0; at < 4; at++) {
    sum += await ctx.do(`step-${at}`, async () => {
      await tell(id, `step-${at}`)
      return n + at
    })
  }
  await ctx.sleep("short", 20)
  const child = await ctx.runChild(leaf, { id: `${id}-child`, input: { n } })
  await ctx.sleep("long", sleepMs)
  await ctx.do("last", () => tell(id, "last"))
  return sum + child
})

export const WorkflowRunner = createWorkflowRunner({ workflows: [chain, leaf] })

interface Env {
  readonly WORKFLOW_RUNNER: ObjectNamespace
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const client = workflowClient(env.WORKFLOW_RUNNER)
    const { pathname, searchParams } = new URL(request.url)
    const id = searchParams.get("id") ?? ""
    if (pathname === "/start") {
      const input = { n: Number(searchParams.get("n")), sleepMs: Number(searchParams.get("sleepMs")) }
      await client.start("chain", { id, input, ifExists: "return" })
      return Response.json({ id })
    }
    if (pathname === "/list") return Response.json(await client.count({}, "status"))
    const handle = client.get(id)
    const [description, history] = await Promise.all([handle.describe(), handle.history({ limit: 1_000 })])
    return Response.json({ status: description.status, result: description.result, types: history.entries.map(({ type }) => type) })
  },
}
