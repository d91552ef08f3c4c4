import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { convertV4MiniflareOptions, Miniflare } from "miniflare"

const root = fileURLToPath(new URL("../../", import.meta.url))
const example = join(root, "examples/cloudflare-worker")

/** Bundles examples/cloudflare-worker with `wrangler deploy --dry-run`, on the sources of the package. `entry` replaces the module of the Worker. */
export async function dryRun(entry = "worker.ts"): Promise<{ readonly output: string; readonly script: string }> {
  const folder = await mkdtemp(join(tmpdir(), "perdure-worker-"))
  const aliases = ["perdure/cloudflare:src/cloudflare.ts", "perdure:src/workerd.ts"].flatMap((alias) => {
    const [name = "", path = ""] = alias.split(":")
    return ["--alias", `${name}:${join(root, path)}`]
  })
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        join(root, "node_modules/wrangler/bin/wrangler.js"),
        "deploy",
        entry,
        "--config",
        "wrangler.jsonc",
        "--dry-run",
        "--minify",
        "--outdir",
        folder,
        ...aliases,
      ],
      { cwd: example, timeout: 120_000, env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" } },
    )
    return { output: stdout, script: await readFile(join(folder, basename(entry).replace(/ts$/, "js")), "utf8") }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs the Worker on a port of this machine, with its storage in the folder. */
export async function runWorker(script: string, folder: string, vars: Record<string, string> = {}): Promise<Miniflare> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: "127.0.0.1",
      modules: [{ type: "ESModule", path: "worker.js", contents: script }],
      compatibilityDate: "2026-09-01",
      compatibilityFlags: ["nodejs_compat"],
      durableObjects: { WORKFLOW_RUNNER: { className: "WorkflowRunner", useSQLite: true } },
      bindings: vars,
      resourcePersistencePath: folder,
    }),
  )
  await miniflare.ready
  return miniflare
}
