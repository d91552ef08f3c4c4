import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sqlite } from "perdure/sqlite"
import { createTestEngine } from "../src/testing/test-engine.ts"
import { afterAll } from "vitest"
import { describeScenarios } from "../src/testing/scenarios/describe-scenarios.ts"

const folder = mkdtempSync(join(tmpdir(), "perdure-scenarios-"))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
describeScenarios("sqlite", ({ wrap = (store) => store, ...options }) =>
  createTestEngine({ ...options, store: wrap(sqlite(join(folder, `${++files}.db`), { durability: "process" })) }),
)
