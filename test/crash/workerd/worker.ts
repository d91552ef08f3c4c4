// The Worker that is killed: workflows that report their steps to the test, and a few routes.

import { workflow } from "../../../src/index.ts"
import { createWorkflowRunner, workflowClient, type ObjectNamespace } from "../../../src/cloudflare.ts"

/** Reports a step to the test, which runs outside of the Worker. */
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

/** At most five instances of a key run at a time. */
const limited = workflow("limited", { concurrency: { limit: 5, key: ({ key }: { key: string }) => key } }, async (ctx, _input: { key: string }) => {
  const { id } = ctx.instance
  await ctx.do("work", async () => {
    await tell(id, "enter")
    await new Promise((resolve) => setTimeout(resolve, 50))
    await tell(id, "leave")
  })
})

const scheduled = workflow("scheduled", async (ctx, _input: null) => ctx.do("work", () => tell(ctx.instance.id, "fired")))

export const WorkflowRunner = createWorkflowRunner({ workflows: [chain, leaf, limited, scheduled] })

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
    if (pathname === "/start-limited") {
      await client.start("limited", { id, input: { key: "k" }, ifExists: "return" })
      return Response.json({ id })
    }
    if (pathname === "/schedule") {
      await client.schedules.create(id, { workflow: "scheduled", every: "400ms", overlap: "allow", input: null, ifExists: "update" })
      return Response.json({ id })
    }
    if (pathname === "/pause-schedule") {
      await client.schedules.get(id).pause()
      const { counts, recent } = await client.schedules.get(id).describe()
      return Response.json({ started: counts.started, recent: recent.map((firing) => firing.id) })
    }
    if (pathname === "/scheduled") {
      const { instances } = await client.list({ workflow: "scheduled", limit: 1_000 })
      return Response.json(Object.fromEntries(instances.map((instance) => [instance.id, instance.status])))
    }
    if (pathname === "/list") return Response.json(await client.count({ workflow: searchParams.get("workflow") ?? "chain" }, "status"))
    const handle = client.get(id)
    const [description, history] = await Promise.all([handle.describe(), handle.history({ limit: 1_000 })])
    return Response.json({ status: description.status, result: description.result, types: history.entries.map(({ type }) => type) })
  },
}
