import { env } from "cloudflare:workers"
import { workflow } from "perdure"
import { BaseWorkflow, createWorkflowRunner, eventSchema, type ObjectNamespace, type Step, workflowClient } from "perdure/cloudflare"

/** The times of marks that the code of instances sets. Objects and tests share this memory, and evictions keep it. */
export const marks = new Map<string, number[]>()
/** The open gates. A step's function that waits at its gate continues when the gate is here. */
export const gates = new Set<string>()
/** How many functions of one instance's steps run now, and how many ran at most. */
export const busy = new Map<string, { now: number; most: number }>()

export const marksOf = (id: string, name: string): readonly number[] => marks.get(`${id}/${name}`) ?? []

function mark(id: string, name: string): number {
  const times = marks.get(`${id}/${name}`) ?? []
  times.push(Date.now())
  marks.set(`${id}/${name}`, times)
  return times.length
}

/** Polls, because an object must not settle a promise that another object awaits. */
async function atGate(id: string, name: string): Promise<void> {
  while (!gates.has(`${id}/${name}`)) await new Promise((resolve) => setTimeout(resolve, 2))
}

/** A step fails at first, and is retried after `waitMs`. */
const flaky = workflow("flaky", async (ctx, { waitMs }: { waitMs: number }) => {
  const { id } = ctx.instance
  const fn = () => {
    if (mark(id, "attempt") === 1) throw new Error("not yet")
    return "done"
  }
  return ctx.do("try", fn, { retry: { maxAttempts: 3, initialInterval: waitMs, jitter: 0 } })
})

/** A step uses up its attempts, and the code continues. */
const exhausted = workflow("exhausted", async (ctx) => {
  const { id } = ctx.instance
  const fail = () => {
    throw new Error(`broken ${mark(id, "attempt")}`)
  }
  const message = await ctx.do("break", fail, { retry: { maxAttempts: 2, initialInterval: 1 } }).catch((error: Error) => (error.cause as Error).message)
  await ctx.waitForEvent("go")
  return message
})

const sleeper = workflow("sleeper", async (ctx, { ms }: { ms: number }) => {
  const { id } = ctx.instance
  await ctx.do("begin", () => mark(id, "begun"))
  await ctx.sleep("nap", ms)
  await ctx.do("wake", () => mark(id, "woke"))
  return "slept"
})

/** A step that waits at its gate, and one after it. */
const gated = workflow("gated", async (ctx) => {
  const { id } = ctx.instance
  const value = await ctx.do("work", async () => {
    mark(id, "work")
    const running = busy.get(id) ?? { now: 0, most: 0 }
    busy.set(id, running)
    running.most = Math.max(running.most, ++running.now)
    await atGate(id, "work")
    running.now--
    return "worked"
  })
  await ctx.do("next", () => mark(id, "next"))
  return value
})

/** Two sleeps and a wait at the same time. */
const parallel = workflow("parallel", async (ctx, { shortMs, longMs }: { shortMs: number; longMs: number }) => {
  const { id } = ctx.instance
  const short = ctx.sleep("short", shortMs).then(() => ctx.do("after short", () => mark(id, "short")))
  const long = ctx.sleep("long", longMs).then(() => ctx.do("after long", () => mark(id, "long")))
  const heard = ctx.waitForEvent("sign").then(() => ctx.do("after sign", () => mark(id, "sign")))
  await Promise.all([short, long, heard])
  return "all"
})

const listener = workflow("listener", async (ctx, { count }: { count: number }) => {
  const heard: unknown[] = []
  for (let i = 0; i < count; i++) heard.push(await ctx.waitForEvent("note"))
  return heard
})

/** The code is busy when the event comes, and waits for it later. */
const occupied = workflow("occupied", async (ctx) => {
  const { id } = ctx.instance
  await ctx.do("work", async () => {
    mark(id, "work")
    await atGate(id, "work")
  })
  const note = await ctx.waitForEvent("note")
  await ctx.do("after", () => mark(id, "after"))
  return note
})

/** The code takes an event, and works on it when the object is aborted. */
const consumer = workflow("consumer", async (ctx) => {
  const { id } = ctx.instance
  const note = await ctx.waitForEvent("note")
  return ctx.do("use", async () => {
    mark(id, "use")
    await atGate(id, "use")
    return note
  })
})

/** The code calls itself through the binding, which is refused. */
const selfAsking = workflow("self-asking", async (ctx, { what, of }: { what: "update" | "result"; of?: string }) => {
  const { id } = ctx.instance
  ctx.setUpdateHandler("add", (n: number) => n + 1)
  const ask = () => {
    const handle = workflowClient((env as { readonly TROUBLE_RUNNER: ObjectNamespace }).TROUBLE_RUNNER).get(of ?? id)
    return what === "update" ? handle.update("add", 1) : handle.result({ timeout: "5s" })
  }
  const answer = await ctx.do("ask", ask, { retry: { maxAttempts: 1 } })
  if (of === undefined) await ctx.waitForEvent("go")
  return answer
})

/** Other instances call this one. */
const asked = workflow("asked", async (ctx) => {
  ctx.setUpdateHandler("add", (n: number) => n + 1)
  await ctx.waitForEvent("go")
})

interface Payload {
  readonly name: string
}
interface Events {
  readonly approval: { readonly approved: boolean }
}

export class OnboardingWorkflow extends BaseWorkflow<Payload, string, Events> {
  static readonly type = "onboarding" as const
  static readonly events = { approval: eventSchema<{ approved: boolean }>() }
  static defaults = { retries: { limit: 2, delay: "1ms", backoff: "constant" as const } }

  async run(step: Step<Events>, { name }: Payload): Promise<string> {
    const { id } = this.ctx.instance
    const greeting = await step.do("greet", ({ attempt }) => {
      mark(id, "greet")
      if (attempt === 1) throw new Error("once")
      return `Hello, ${name}!`
    })
    const { approved } = await step.waitForEvent("approval", { timeout: "1m" })
    return approved ? greeting : "Good bye."
  }
}

export const TroubleRunner = createWorkflowRunner({
  workflows: [flaky, exhausted, sleeper, gated, parallel, listener, occupied, consumer, selfAsking, asked, OnboardingWorkflow],
  binding: "TROUBLE_RUNNER",
  maxRecoveries: 3,
})
