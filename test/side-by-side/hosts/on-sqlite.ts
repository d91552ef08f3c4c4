import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openWorkflows } from "perdure/cloudflare-workflows"
import { sqlite } from "perdure/sqlite"
import { silentLogger } from "../../../src/hosts/silent-logger.ts"
import { workflowSources } from "../features.ts"
import { observe } from "../program.ts"
import { retryDelayMs } from "../retry-delay.ts"
import type { Host } from "./host.ts"

export async function onSqlite(): Promise<Host> {
  const folder = await mkdtemp(join(tmpdir(), "perdure-side-by-side-"))
  const { env, engine } = await openWorkflows({
    store: sqlite(join(folder, "programs.db")),
    workflows: workflowSources,
    retryDelay: retryDelayMs,
    log: silentLogger,
  })
  return {
    async run(program) {
      try {
        return { shown: await observe(program, env) }
      } catch (error) {
        return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }
      }
    },
    async close() {
      await engine.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
