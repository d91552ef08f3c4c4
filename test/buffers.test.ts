// A Buffer keeps its type: live and on replay, code gets a Buffer back, as the compiler says.

import { Buffer } from "node:buffer"
import { type Context, workflow } from "perdure"
import { connect } from "perdure/client"
import { createHttpApp } from "perdure/http"
import { createTestEngine } from "perdure/testing"
import { expect, expectTypeOf, it } from "vitest"

const child = workflow("child", async (ctx: Context, input: Buffer) => ctx.do("reverse", () => Buffer.from(input.toReversed())))

const parent = workflow("parent", async (ctx: Context<{ more: Buffer }>, input: { readonly file: Buffer }) => {
  const hex = [input.file.toString("hex")]
  const read = await ctx.do("read", () => Buffer.from("abc"))
  expectTypeOf(read).toEqualTypeOf<Buffer<ArrayBuffer>>()
  hex.push(read.toString("hex"))
  const more = await ctx.waitForEvent("more")
  expectTypeOf(more).toEqualTypeOf<Buffer>()
  hex.push(more.toString("hex"))
  const reversed = await ctx.runChild(child, { input: more })
  hex.push(reversed.toString("hex"))
  await ctx.sleep("until the crash is over", "1h")
  return { hex, file: Buffer.concat([input.file, read, more, reversed]) }
})

it("a Buffer comes back as a Buffer: as input, result, event, of a child, after a crash, and over HTTP", async () => {
  await using engine = await createTestEngine({ workflows: [parent, child] })
  const handle = await engine.start(parent, { id: "i", input: { file: Buffer.from("in") } })
  await engine.sendEvent("i", "more", Buffer.from("123"))
  await engine.crash()
  await engine.skipToEnd("i")
  const { hex, file } = await handle.result()
  expect(hex).toEqual(["696e", "616263", "313233", "333231"])
  expectTypeOf(file).toEqualTypeOf<Buffer<ArrayBuffer>>()
  expect(Buffer.isBuffer(file)).toBe(true)
  expect(file.toString()).toBe("inabc123321")

  const app = createHttpApp(engine.current)
  const remote = connect("http://127.0.0.1", { fetch: async (input, init) => app.fetch(new Request(input, init)) })
  const over = await remote.get(parent, "i").result()
  expect(Buffer.isBuffer(over.file)).toBe(true)
  expect(over.file.toString()).toBe("inabc123321")
})
