import type { Command } from "commander"
import type { AnyActivity } from "../../core/workflow/activity.ts"
import { databaseOf, shownDatabase, storeOf } from "../target/database-target.ts"
import { collect, wholeNumber } from "../option-parsers.ts"
import { CommandError, exitCodes, usageError } from "../exit-code.ts"
import type { Invocation } from "../invocation.ts"
import { lineLogger } from "../output/line-logger.ts"
import { isAddress } from "../target/database-argument.ts"
import { ranWithTypes } from "../user-code/typescript-process.ts"
import { findEntry, shownPath } from "../user-code/workflow-entry.ts"
import { loadWorkflows, type WorkflowModule } from "../user-code/workflow-module.ts"

interface WorkerOptions {
  readonly queue?: readonly string[]
  readonly maxConcurrentSteps?: number
  readonly maxConcurrentActivities?: number
}

export function addWorker(program: Command, cli: Invocation): void {
  program
    .command("worker")
    .argument("[entry]", "the module that exports your workflows and activities")
    .option("-q, --queue <name>", "serve only this task queue; may be repeated", collect)
    .option("--max-concurrent-steps <n>", "run at most so many steps at a time", wholeNumber("--max-concurrent-steps"))
    .option("--max-concurrent-activities <n>", "run at most so many activities at a time", wholeNumber("--max-concurrent-activities"))
    .addHelpText(
      "after",
      "\nExecutes workflows and activities until it is told to stop (Ctrl-C, SIGTERM): steps under way may finish, then everything is given back in good order. With --url and --queue it runs the activities of a queue for a server, which executes the workflows.",
    )
    .action(async (named: string | undefined, options: WorkerOptions) => {
      const entry = findEntry(cli.io, named)
      if (await ranWithTypes(cli, entry)) return
      cli.interruptedCode = 0
      const { target } = cli
      const isRemote = target.kind === "url" && target.serves === undefined && options.queue !== undefined
      const db = isRemote ? undefined : databaseOf(cli, "worker")
      const module = await loadWorkflows(entry, cli.io.cwd, { isForActivities: options.queue !== undefined })
      const shown = { entry, of: shownPath(entry, cli.io.cwd) }
      return db === undefined ? workForServer(cli, module, options, shown) : workOnDatabase(cli, module, options, { ...shown, db })
    })
}

interface Shown {
  readonly entry: string
  /** The entry, as the user sees it. */
  readonly of: string
}

/** Runs an engine until the command is interrupted, or until its database file is deleted or replaced. */
async function workOnDatabase(
  cli: Invocation,
  { workflows, activities, options: ofModule }: WorkflowModule,
  { queue: queues, maxConcurrentSteps, maxConcurrentActivities }: WorkerOptions,
  { entry, of, db }: Shown & { readonly db: string },
): Promise<void> {
  const { Perdure } = await import("../../index.ts")
  let stop: (error: Error) => void = () => undefined
  const gone = new Promise<never>((_, reject) => {
    stop = reject
  })
  // `gone` is awaited at the end, and may be rejected before.
  gone.catch(() => undefined)
  const engine = await Perdure.open({
    ...ofModule,
    store: await storeOf(db),
    workflows,
    activities,
    log: lineLogger(cli),
    onStoreGone: stop,
    ...(queues === undefined ? undefined : { taskQueues: queues }),
    ...(maxConcurrentSteps === undefined ? undefined : { maxConcurrentSteps }),
    ...(maxConcurrentActivities === undefined ? undefined : { maxConcurrentActivities }),
  })
  cli.onClose(async () => {
    cli.note("stopping: steps under way may finish; press Ctrl-C again to stop at once")
    await engine.close()
    cli.note("stopped")
  })
  const offers = workflows.map(({ name, version }) => `${name}@${version}`)
  const where = shownDatabase(db, cli.io.cwd)
  const served = namesOf(activities)
  const document = { serving: offers, activities: served, ...(queues && { queues }), entry, db: isAddress(db) ? where : db, role: engine.role }
  cli.printLine(document, () => {
    const executing = offers.length === 0 ? [] : [`${engine.role === "worker" ? "executing" : "standing by for"} ${offers.join(", ")}`]
    const running = served.length === 0 ? [] : [`running ${activityText(served)}`]
    return `${[...executing, ...running].join(", ")} of ${of} on ${where}${queueText(queues)}`
  })
  await gone
}

/** Claims activities from a server until the command is interrupted, or the server refuses the worker. */
async function workForServer(
  cli: Invocation,
  { activities }: WorkflowModule,
  { queue: queues = [], maxConcurrentActivities }: WorkerOptions,
  { entry, of }: Shown,
) {
  const { target } = cli
  if (target.kind !== "url") return
  const served = namesOf(activities)
  if (served.length === 0)
    throw new CommandError(
      "NO_ACTIVITIES",
      exitCodes.usage,
      `${of} exports no activity, and a worker for a server runs only activities; export what defineActivity(…) returns`,
    )
  const [queue, ...others] = queues
  if (queue === undefined || others.length > 0) throw usageError("a worker for a server serves one --queue; start one for each queue")
  const { runActivities } = await import("../../client.ts")
  const log = lineLogger(cli)
  const runner = runActivities(target.url, {
    queue,
    activities,
    worker: `worker-${process.pid}`,
    ...(target.token === undefined ? undefined : { token: target.token }),
    ...(maxConcurrentActivities === undefined ? undefined : { maxConcurrentActivities }),
    onError: (error) => log.error("the server could not be reached, or refused a request; going on", { error }),
  })
  cli.onClose(async () => {
    cli.note("stopping: activities under way may finish; press Ctrl-C again to stop at once")
    await runner.stop().catch(() => undefined)
    cli.note("stopped")
  })
  cli.printLine(
    { activities: served, queues, entry, url: target.url, worker: runner.worker },
    () => `running ${activityText(served)} of ${of} for ${target.url}${queueText(queues)}`,
  )
  await runner.ended
}

const namesOf = (activities: readonly AnyActivity[]) => activities.map(({ name }) => name)

function activityText(names: readonly string[]): string {
  return `${names.length === 1 ? "activity" : "activities"} ${names.join(", ")}`
}

function queueText(queues: readonly string[] | undefined): string {
  return queues === undefined ? "" : `, ${queues.length === 1 ? "queue" : "queues"} ${queues.join(", ")}`
}
