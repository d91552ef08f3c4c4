// The two hosts in workerd: Cloudflare's local engine for Workflows, and our Durable Objects.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { convertV4MiniflareOptions, Miniflare } from "miniflare"
import { allPrograms, workflowSources } from "../features.ts"
import type { Host, Outcome } from "./host.ts"

const here = fileURLToPath(new URL("./", import.meta.url))
const source = (name: string) => fileURLToPath(new URL(`../../../src/${name}.ts`, import.meta.url))

export async function onTheirEngine(): Promise<Host> {
  const names = Object.keys(workflowSources)
  const workflows = Object.fromEntries(
    Object.entries(workflowSources).map(([name, { limits }]) => [
      name,
      { name, className: name, ...(limits?.steps === undefined ? {} : { stepLimit: limits.steps }) },
    ]),
  )
  const entry = `
    import { workflowSources } from "../features.ts"
    import { answer } from "./worker.ts"
    ${names.map((name) => `export const ${name} = workflowSources.${name}.class`).join("\n")}
    export default { fetch: answer }
  `
  const exported = Object.fromEntries(Object.values(workflows).map(({ className, ...rest }) => [className, rest]))
  // Exported classes are bindings in `ctx.exports`, too.
  return inMiniflare(entry, { workflows, workflowExports: exported })
}

export async function inOurObjects(): Promise<Host> {
  const entry = `export * from "./objects-worker.ts"\nexport { default } from "./objects-worker.ts"`
  return inMiniflare(entry, { durableObjects: { WORKFLOW_RUNNER: { className: "WorkflowRunner", useSQLite: true } } })
}

async function inMiniflare(entry: string, options: object): Promise<Host> {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: here, loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    keepNames: true,
    external: ["node:*", "cloudflare:*"],
    alias: { "perdure/cloudflare-workflows": source("cloudflare-workflows-worker"), "perdure/cloudflare": source("cloudflare"), perdure: source("workerd") },
  })
  const folder = await mkdtemp(join(tmpdir(), "perdure-side-by-side-"))
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: "127.0.0.1",
      modules: [{ type: "ESModule", path: "worker.js", contents: outputFiles[0]?.text ?? "" }],
      compatibilityDate: "2026-09-01",
      // Without a NonRetryableError that keeps its name and message, nothing of it could be compared.
      compatibilityFlags: ["nodejs_compat", "workflows_preserve_non_retryable_error_message"],
      resourcePersistencePath: folder,
      // Programs that fail are logged on both hosts.
      handleStructuredLogs: () => undefined,
      ...options,
    }),
  )
  const { origin } = await miniflare.ready
  return {
    run: async (program) => (await (await fetch(`${origin}/${allPrograms.indexOf(program)}`)).json()) as Outcome,
    async close() {
      await miniflare.dispose()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
