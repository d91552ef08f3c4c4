import { safeLine } from "../../core/values/safe-text.ts"
import type { Style } from "../output/style.ts"
import type { BindingReport } from "../wrangler/worker-env.ts"
import type { DevReport, WorkerReport } from "./dev-message.ts"

/** Where `perdure dev` reads and writes, as people write it. */
export interface DevPlaces {
  readonly entry: string
  readonly database: string
}

/** What `perdure dev` prints when it executes. A reload repeats only the first line. */
export function readyText({ offers, role, url, worker }: DevReport & { readonly type: "ready" }, isReload: boolean, style: Style, places: DevPlaces): string {
  const what = `${offers.join(", ")} of ${places.entry}`
  const first = `${style.green(isReload ? "reloaded" : "ready")} ${role === "worker" ? "" : "(standing by: another process executes) "}${what}`
  if (isReload) return first
  const lines = [first, `  database  ${places.database}`]
  if (url !== undefined) lines.push(`  HTTP API  ${url}`)
  return [...lines, ...(worker ? workerLines(worker, style) : [])].join("\n")
}

function workerLines({ url, bindings, crons }: WorkerReport, style: Style): string[] {
  const lines = url === undefined ? [] : [`  Worker    ${url}`]
  const width = Math.max(0, ...bindings.map(({ name }) => name.length))
  for (const binding of bindings) lines.push(`  env       ${safeLine(binding.name).padEnd(width)}  ${safeLine(binding.kind)}${origin(binding, style)}`)
  for (const { cron, next } of crons) lines.push(`  cron      ${safeLine(cron)}${next === undefined ? "" : style.dim(`  next ${next.slice(0, 16)}Z`)}`)
  return lines
}

function origin({ from }: BindingReport, style: Style): string {
  if (from === "missing") return style.yellow(", not here: its first use throws")
  return from === "miniflare" ? style.dim(", of miniflare") : ""
}
