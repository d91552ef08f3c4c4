import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { creation, turn } from "../../../testing/store-conformance/sample.ts"
import { sqlite } from "../sqlite-provider.ts"

it("a turn of an instance that another process has removed is lost, although this connection has cached its key", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-"))
  const silent = () => undefined
  const context = { now: () => 1_000_000, log: { debug: silent, info: silent, warn: silent, error: silent } }
  const here = await sqlite(join(folder, "a.db")).open({ ...context, role: "worker" })
  const elsewhere = await sqlite(join(folder, "a.db")).open({ ...context, role: "client" })
  await here.journal.commit([creation("i"), turn("i", 3)])
  await elsewhere.journal.commit([turn("i", 4, { state: { status: "terminated", run: 1, runPosition: 1, endPosition: 4 } })])
  expect(await elsewhere.directory.remove(["i"])).toEqual(["i"])
  expect(await here.journal.commit([turn("i", 4)])).toEqual(["lost"])
  await elsewhere.journal.commit([creation("i", { incarnation: "i~2" })])
  expect(await here.journal.commit([turn("i", 4)])).toEqual(["lost"])
  expect(await here.journal.readJournal("i", 1)).toHaveLength(1)
  await here.close()
  await elsewhere.close()
  rmSync(folder, { recursive: true })
})
