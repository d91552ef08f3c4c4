// amplification.test.ts runs this process. It serves an instance whose payload is 1 MB as stored and 400 MB as plain JSON, and asks for the payload.
// It prints the answers, and by how many bytes its memory has grown.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Context, Perdure, workflow } from "../src/index.ts"
import { serve } from "../src/http.ts"
import { sqlite } from "../src/sqlite.ts"

const keeper = workflow("keeper", async (ctx: Context<{ stop: undefined }>, input: { readonly list: readonly string[] }) => {
  ctx.setQueryHandler("list", () => input.list)
  await ctx.waitForEvent("stop")
})

const folder = mkdtempSync(join(tmpdir(), "perdure-amplified-"))
const engine = await Perdure.open({ store: sqlite(join(folder, "perdure.db")), workflows: [keeper] })
const server = await serve(engine, { port: 0 })
const body = JSON.stringify({
  rich: [{ type: 1, id: 2, payload: 3 }, "keeper", "k", { list: 4 }, Array.from({ length: 400 }, () => 5), "x".repeat(1_000_000)],
})
const headers = { "content-type": "application/vnd.perdure+json" }
const started = await fetch(`${server.url}/workflows`, { method: "POST", headers, body })
const before = process.resourceUsage().maxRSS
const ask = async (method: string, path: string) => {
  const response = await fetch(`${server.url}/workflows/k${path}`, { method })
  return { status: response.status, length: (await response.arrayBuffer()).byteLength }
}
const asked = Array.from({ length: 6 }, () => [ask("GET", ""), ask("GET", "/history"), ask("POST", "/queries/list")]).flat()
const answers = await Promise.all(asked)
const grownBytes = (process.resourceUsage().maxRSS - before) * 1_024
await server.close()
await engine.close()
rmSync(folder, { recursive: true })
console.log(JSON.stringify({ started: started.status, answers, grownBytes }))
