import { exports } from "../../cloudflare-workers-module.ts"
import { CronTriggers, nextTriggers } from "../wrangler/cron-triggers.ts"
import { openMiniflare } from "../wrangler/miniflare-bindings.ts"
import { openWorker } from "../wrangler/open-worker.ts"
import { WorkerHandlers } from "../wrangler/worker-handlers.ts"
import { serveWorker } from "../wrangler/worker-server.ts"
import { readWorkerSettings } from "../wrangler/worker-settings.ts"
import type { WorkerOptions } from "./dev-message.ts"
import type { DevOptions, DevProject } from "./dev-project.ts"

/** One more than the port of the HTTP API. */
const portDefault = 8788

/** Executes the workflows of a Worker, serves its fetch handler, and calls its scheduled handler. */
export async function openDevWorker(
  file: string,
  cwd: string,
  { environment, port }: WorkerOptions,
  options: DevOptions,
  closers: (() => Promise<void>)[],
): Promise<DevProject> {
  const settings = readWorkerSettings(file, cwd, environment)
  // A wrong expression is an error before anything is opened.
  const crons = nextTriggers(settings.crons, Date.now())
  const miniflare = await openMiniflare(settings)
  closers.push(() => miniflare.close())
  const { engine, env, module, reports, workflows } = await openWorker(settings, cwd, miniflare, options)
  closers.push(() => engine.close())
  const handlers = new WorkerHandlers(module.handlers, env, exports, options.log)
  closers.push(() => handlers.close())
  const server = handlers.has("fetch") || handlers.has("scheduled") ? await serveWorker(handlers, port ?? settings.port ?? portDefault) : undefined
  if (server) closers.push(() => server.close())
  if (crons.length > 0 && !handlers.has("scheduled")) options.log.warn(`${settings.file.shown} has triggers.crons, but the Worker has no scheduled handler`)
  else {
    // On a SQLite file, another process may execute the workflows. Then that process calls the handler.
    const triggers = new CronTriggers(settings.crons, (cron, time) => engine.role === "worker" && void handlers.scheduled(cron, time))
    closers.push(async () => triggers.close())
  }
  const shownCrons = crons.map(({ cron, next }) => ({ cron, ...(next === undefined ? undefined : { next: new Date(next).toISOString() }) }))
  return { engine, workflows, worker: { name: settings.name, ...(server ? { url: server.url } : undefined), bindings: reports, crons: shownCrons } }
}
