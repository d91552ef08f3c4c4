// What workflows note about themselves, and how their data is treated, as the compiler sees it. Nothing here runs.

import { type Client, type InstanceTags, isHidden, type PayloadCodec, Perdure, workflow } from "perdure"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Takes only a value of exactly that type: one that is wider, or `any`, makes the second argument necessary. */
declare function exactly<Expected>(): <Actual>(value: Actual, ...proof: Equal<Actual, Expected> extends true ? [] : ["is not the expected type"]) => void

declare const engine: Client

// --- tags, memo, attempt ----------------------------------------------------------------------------------------------------

export const noting = workflow("noting", async (ctx) => {
  exactly<InstanceTags>()(ctx.tags)
  exactly<string[]>()([...ctx.tags])
  exactly<boolean>()(ctx.tags.has("a"))
  ctx.tags.add("a", "b")
  ctx.tags.delete("a")
  // @ts-expect-error a tag is a string
  ctx.tags.add(1)
  ctx.setMemo("stage", { any: new Map() })
  ctx.setMemo({ stage: undefined, other: 1 })
  // @ts-expect-error a key has a value
  ctx.setMemo("stage")
  // @ts-expect-error a key is a string
  ctx.setMemo(1, 2)
  exactly<number>()(ctx.instance.attempt)
})

const { memo, attempt } = await engine.describe("i")
exactly<Readonly<Record<string, unknown>> | undefined>()(memo)
exactly<number>()(attempt)
exactly<Readonly<Record<string, unknown>> | undefined>()((await engine.list()).instances[0]?.memo)

// --- task queues ------------------------------------------------------------------------------------------------------------

export const queued = workflow("queued", { taskQueue: "gpu" }, async (ctx) => {
  await ctx.runChild(noting, { taskQueue: "mail" })
  // @ts-expect-error a queue is a string
  await ctx.runChild(noting, { taskQueue: 5 })
})
await engine.start(queued, { taskQueue: "gpu" })
await engine.schedules.create("s", { workflow: queued, every: "1h", taskQueue: "gpu" })
await engine.schedules.get("s").update({ taskQueue: null })
exactly<string | undefined>()((await engine.list({ queue: "gpu" })).instances[0]?.queue)
await Perdure.open({ taskQueues: ["a", "b"] })
// @ts-expect-error several are a list
await Perdure.open({ taskQueues: "a" })

// --- sensitive values ----------------------------------------------------------------------------------------------------------

export const secretive = workflow("secretive", { sensitive: { input: true, result: true, events: ["card"], updates: ["pin"] } }, async (ctx, input: string) => {
  exactly<string>()(await ctx.do("hidden", () => input, { sensitive: true }))
  // @ts-expect-error true or false
  await ctx.do("hidden", () => input, { sensitive: "output" })
})
// @ts-expect-error there is no such thing
workflow("wrong", { sensitive: { output: true } }, async () => 1)
const { input: shownInput } = await engine.describe("i")
if (isHidden(shownInput)) exactly<"redacted" | "encoded">()(shownInput.$perdure)

// --- payload codecs --------------------------------------------------------------------------------------------------------------

const codec: PayloadCodec = { id: "c", encode: (bytes) => bytes, decode: (bytes) => bytes }
await Perdure.open({ codec, retiredCodecs: [codec] })
// @ts-expect-error codecs are synchronous
await Perdure.open({ codec: { id: "c", encode: async (bytes: Uint8Array) => bytes, decode: (bytes: Uint8Array) => bytes } })
// @ts-expect-error several are retired codecs
await Perdure.open({ codec: [codec] })
