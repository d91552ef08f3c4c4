import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"
import { describeStore } from "../../testing/store-conformance/describe-store.ts"
import { sqlite } from "./sqlite-provider.ts"

const folder = mkdtempSync(join(tmpdir(), "perdure-sqlite-"))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
describeStore("sqlite", () => sqlite(join(folder, `${++files}.db`), { durability: "process", pollInterval: 1 }))
