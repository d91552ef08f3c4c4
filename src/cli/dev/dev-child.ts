// The executing process of `perdure dev`. It ends when the watching process tells it to, or is gone.

import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import { PerdureError } from "../../core/errors.ts"
import type { PublicEngine } from "../../engine/public-engine.ts"
import { CommandError } from "../exit-code.ts"
import { checkWorkflows } from "../user-code/journal-checker.ts"
import { lineLogger } from "../output/line-logger.ts"
import { isColourful, styleOf } from "../output/style.ts"
import { storeOf } from "../target/database-target.ts"
import { serveApi } from "./api-server.ts"
import type { DevReport, DevSettings } from "./dev-message.ts"
import { openProject } from "./dev-project.ts"

/** Running steps may finish, but not for long: the user waits for the new code. */
const drain = "2s"
const checkedMax = 1_000

const settings = JSON.parse(process.argv[2] ?? "{}") as DevSettings
const log = lineLogger({ io: { stderr: process.stderr }, errorStyle: styleOf(isColourful({ env: process.env }, process.stderr)) })
const stopping = new AbortController()
const closers: (() => Promise<void>)[] = []

// The terminal sends Ctrl-C to this process too, but only the watching process decides when this process ends.
process.on("SIGINT", () => undefined)
process.on("SIGTERM", () => void stop())
process.on("disconnect", () => void stop())
process.on("message", (message) => message === "stop" && void stop())

try {
  await begin()
} catch (error) {
  fail(error)
}

function fail(error: unknown): void {
  const code = PerdureError.is(error) || error instanceof CommandError ? { code: error.code } : undefined
  report({ type: "failed", message: error instanceof Error ? error.message : String(error), ...code })
  void stop(1)
}

function onStoreGone({ message }: Error): void {
  report({ type: "gone", message })
  void stop(1)
}

async function begin(): Promise<void> {
  const { db, port } = settings
  const { engine, workflows, worker } = await openProject(settings, { store: await storeOf(db), log, drain, onStoreGone }, closers)
  if (stopping.signal.aborted) return
  const server = port === undefined ? undefined : await serveApi(engine, port)
  if (server) closers.push(() => server.close())
  const offers = workflows.map(({ name, version }) => `${name}@${version}`)
  report({ type: "ready", offers, role: engine.role, ...(server ? { url: server.url } : undefined), ...(worker ? { worker } : undefined) })
  await warnOfFailures(engine, workflows)
}

/** Warns at once of instances that would stall or fail with the new code when they wake up. */
async function warnOfFailures(engine: PublicEngine, workflows: readonly AnyWorkflow[]): Promise<void> {
  const limitReached = new AbortController()
  const signal = AbortSignal.any([stopping.signal, limitReached.signal])
  const count = (checked: number) => checked >= checkedMax && limitReached.abort()
  const { problems } = await checkWorkflows(workflows, engine, {}, {}, count, signal).catch(() => ({ problems: [] }))
  if (stopping.signal.aborted) return
  for (const { instance, kind, message } of problems.slice(0, 10)) {
    // A stalled instance is logged with all details when it stalls.
    log.warn(
      `instance "${instance}" ${kind === "stalls" ? "will stall when it goes on" : kind === "fails" ? "will fail when it goes on" : "cannot go on"}: ${message}`,
    )
  }
  if (problems.length > 10) log.warn(`and ${problems.length - 10} more; perdure check lists them`)
}

function report(message: DevReport): void {
  if (process.connected) process.send?.(message)
}

async function stop(code = 0): Promise<void> {
  if (stopping.signal.aborted) return
  stopping.abort()
  for (const close of closers.toReversed()) await close().catch((error: unknown) => log.error("closing failed", { error }))
  process.exit(code)
}
