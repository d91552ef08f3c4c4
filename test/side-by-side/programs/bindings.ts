import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import type { WorkflowBinding, WorkflowInstanceCreateOptions } from "perdure/cloudflare-workflows"
import { ended, outcomeOf } from "../observation.ts"
import { type Feature, program } from "../program.ts"

/** A class of its own for each program, so that their ids do not meet. */
const echo = () =>
  class extends WorkflowEntrypoint {
    async run({ payload, instanceId, workflowName, timestamp }: WorkflowEvent<unknown>, step: WorkflowStep) {
      return step.do("echo", async () => ({ payload, instanceId, workflowName, hasTime: timestamp instanceof Date }))
    }
  }

const idOf = (given: unknown) => ({ id: (given as { id: string }).id })

/** What a batch gave: the ids, and the errors. */
async function batchOf(workflow: WorkflowBinding, options: unknown): Promise<unknown> {
  return outcomeOf(async () => {
    const result = (await workflow.createBatch(options as WorkflowInstanceCreateOptions[])) as unknown
    if (Array.isArray(result)) return result.map(idOf)
    const { created, errors } = result as { created: unknown[]; errors: unknown[] }
    return { created: created.map(idOf), errors }
  })
}

export const bindings: Feature = {
  title: "Creating, finding and deleting instances",
  programs: [
    program("an instance has its id, its params and the name of its workflow", { EchoCreate: echo() }, async ({ start }) => ({
      end: await ended(await start({ id: "named-1", params: { a: [1, { b: 2 }] } })),
    })),
    program("an instance without id and params", { EchoDefaults: echo() }, async ({ workflow }) => {
      const instance = await workflow.create()
      const { output } = (await ended(instance)) as { output: { payload: unknown; instanceId: string } }
      return { isUuid: /^[0-9a-f-]{36}$/.test(instance.id), isItsOwn: output.instanceId === instance.id, payload: output.payload }
    }),
    program("an id that is in use", { EchoTwice: echo() }, async ({ start }) => {
      await ended(await start({ id: "same" }))
      return { second: await outcomeOf(() => start({ id: "same" })) }
    }),
    program("ids that are none", { EchoBadId: echo() }, async ({ start }) => {
      const ids = ["", " ", "a b", "-a", "ä", "a".repeat(101), "a/b", "a.b", "a:b"]
      const outcomes = await Promise.all(ids.map((id) => outcomeOf(() => start({ id }))))
      return {
        outcomes,
        longest: await outcomeOf(async () => idOf(await start({ id: "a".repeat(100) }))),
        others: await outcomeOf(async () => idOf(await start({ id: "_a-B_9" }))),
      }
    }),
    program("get finds an instance, and refuses an unknown id", { EchoGet: echo() }, async ({ workflow, start }) => {
      await ended(await start({ id: "there" }))
      const found = await workflow.get("there")
      return {
        found: idOf(found),
        end: await ended(found),
        unknown: await outcomeOf(() => workflow.get("not-there")),
        empty: await outcomeOf(() => workflow.get("")),
      }
    }),
    program("a batch of instances", { EchoBatch: echo() }, async ({ workflow }) => {
      const created = await batchOf(workflow, {
        instances: [
          { id: "b-1", params: 1 },
          { id: "b-2", params: 2 },
        ],
      })
      const ends = await Promise.all(["b-1", "b-2"].map(async (id) => ended(await workflow.get(id))))
      return { created, ends }
    }),
    program("a batch of so many equal instances", { EchoCount: echo() }, async ({ workflow }) => {
      const { created, errors } = await workflow.createBatch({ count: 3, params: { same: true } })
      const ends = await Promise.all(created.map(async (instance) => ((await ended(instance))["output"] as { payload: unknown }).payload))
      return { count: new Set(created.map(({ id }) => id)).size, errors, ends }
    }),
    program("a batch tells which ids are in use, and which come twice", { EchoClash: echo() }, async ({ workflow, start }) => {
      await ended(await start({ id: "old" }))
      return { result: await batchOf(workflow, { instances: [{ id: "new" }, { id: "old" }, { id: "new" }, { id: "last" }] }) }
    }),
    program("the deprecated form of a batch leaves such ids out", { EchoOldBatch: echo() }, async ({ workflow, start }) => {
      await ended(await start({ id: "old" }))
      return { result: await batchOf(workflow, [{ id: "new" }, { id: "old" }, { id: "new" }]) }
    }),
    program("batches that are none", { EchoBadBatch: echo() }, async ({ workflow }) => {
      const batches = [
        ...[null, 5, {}, { instances: [] }, { instances: Array.from({ length: 101 }, () => ({})) }, { instances: [{ id: "a b" }] }],
        ...[{ instances: [{ id: "batch" }] }, { count: 0 }, { count: 101 }, { count: 1.5 }, [], Array.from({ length: 101 }, () => ({})), [{ id: "a b" }]],
      ]
      return { outcomes: await Promise.all(batches.map((batch) => batchOf(workflow, batch))) }
    }),
    program("a deleted instance is gone, and its id is free", { EchoDelete: echo() }, async ({ workflow, start }) => {
      const instance = await start({ id: "gone", params: 1 })
      await ended(instance)
      await instance.delete()
      const after = await outcomeOf(() => workflow.get("gone"))
      return { after, again: await outcomeOf(() => instance.delete()), next: await ended(await start({ id: "gone", params: 2 })) }
    }),
    program("a batch of deletions", { EchoDeleteBatch: echo() }, async ({ workflow, start }) => {
      await Promise.all(["d-1", "d-2"].map(async (id) => ended(await start({ id }))))
      return { result: await outcomeOf(() => workflow.deleteBatch(["d-1", "unknown", "d-2", "d-1"])), after: await outcomeOf(() => workflow.get("d-1")) }
    }),
    program("batches of deletions that are none", { EchoBadDelete: echo() }, async ({ workflow }) => {
      const batches = [[], "d-1", Array.from({ length: 101 }, (_, index) => `x-${index}`), [""], ["ä"], [5]] as string[][]
      return { outcomes: await Promise.all(batches.map((ids) => outcomeOf(() => workflow.deleteBatch(ids)))) }
    }),
    program("retention that is none", { EchoRetention: echo() }, async ({ workflow }) => {
      const retentions = ["soon", "0 days", -1, 0, "7 days", 60_000]
      const refused = (successRetention: string | number) =>
        workflow.createBatch({ instances: [{ retention: { successRetention } }] }).then(
          () => "accepted",
          () => "refused",
        )
      return { outcomes: await Promise.all(retentions.map(refused)) }
    }),
  ],
}
