import { workflow } from "perdure"
import { createWorkflowRunner, type WorkflowRunnerClass, type WorkflowRunnerOptions } from "perdure/cloudflare"

/** The faults of shards: the names of shards that fail, whether responses are late, how many calls wait, and the number of shards for objects that are created from now on. */
export const faults = {
  down: new Set<string>(),
  isSlow: false,
  waiting: 0,
  layout: {} as Pick<WorkflowRunnerOptions, "indexShards" | "previousShards">,
}

/** How far instances of "noting" may go. */
export const noting = { mayNote: false, mayEnd: false, hasNoted: false }

const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5))
}

const quick = workflow("quick", async (_ctx, input: number) => input * 2)

const patient = workflow("patient", async (ctx, _input: { name: string }) => {
  await ctx.do("note", () => "noted")
  await ctx.waitForEvent("go")
  return "gone"
})

const noter = workflow("noting", async (ctx) => {
  await ctx.do("before", () => until(() => noting.mayNote))
  ctx.setMemo({ is: "noted" })
  await ctx.transaction("own", (sql) => sql.run("CREATE TABLE mine (n INTEGER)"))
  await ctx.do("after", () => {
    noting.hasNoted = true
    return until(() => noting.mayEnd)
  })
})

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: (...all: unknown[]) => console.error(...all) }

/** Methods that fail in a shard that is down. */
const failing = ["indexWrite", "indexRemove", "indexList", "indexCount", "indexChanges"] as const

function runner(): WorkflowRunnerClass {
  const Runner = createWorkflowRunner({ workflows: [quick, patient, noter], binding: "SHARD_RUNNER", log: quiet, ...faults.layout })
  const methods = Runner.prototype as Record<string, (...args: unknown[]) => Promise<unknown>>
  for (const name of failing) {
    const method = methods[name]!
    methods[name] = async function (this: { readonly ctx: { readonly id: { readonly name?: string } } }, ...args) {
      if (faults.down.has(this.ctx.id.name ?? "")) throw new Error("this shard is out of order")
      if (faults.isSlow) {
        faults.waiting++
        await until(() => !faults.isSlow)
      }
      return method.apply(this, args)
    }
  }
  return Runner
}

/** One class for each layout. An object gets the layout that is current when it is created. */
export const ShardRunner = new Proxy(runner(), { construct: (_, args) => Reflect.construct(runner(), args) as object })
