import { type Command, Option } from "commander"
import { defaultVersion } from "../../core/workflow/workflow.ts"
import type { ScheduleControlResult, ScheduleOptions, ScheduleTimes } from "../../client-api/schedule-client.ts"
import { collect, duration, jsonArgument, pastInstant, wholeNumber } from "../option-parsers.ts"
import { exitCodes, usageError } from "../exit-code.ts"
import { refuseOpenValue } from "../hidden-values.ts"
import type { Invocation } from "../invocation.ts"
import { shortTime } from "../output/clock.ts"
import { schedulePage, scheduleTable } from "../output/schedule-view.ts"
import { table } from "../output/table.ts"
import { noteWorker } from "../target/worker-banner.ts"
import { definitionOf, knownWorkflow } from "../user-code/workflow-reference.ts"

export function addSchedules(program: Command, cli: Invocation): void {
  const schedules = program.command("schedules").helpCommand(false)
  addList(schedules, cli)
  addShow(schedules, cli)
  addCreate(schedules, cli)
  addControls(schedules, cli)
  addTrigger(schedules, cli)
  addBackfill(schedules, cli)
}

function addList(schedules: Command, cli: Invocation): void {
  schedules
    .command("list")
    .description("list schedules")
    .option("-w, --workflow <name>", "of this workflow")
    .option("--limit <n>", "at most so many", wholeNumber("--limit"), 50)
    .option("--cursor <cursor>", "go on after an earlier page")
    .action(async (options: { readonly workflow?: string; readonly limit: number; readonly cursor?: string }) => {
      const { client } = await cli.openClient()
      const page = await client.schedules.list(options)
      cli.print(page, () => scheduleTable(page.schedules, cli))
      if (page.cursor !== undefined && !cli.json) cli.note(`there are more: --cursor ${page.cursor}`)
    })
}

function addShow(schedules: Command, cli: Invocation): void {
  schedules
    .command("show")
    .description("show a schedule: its next times, and what became of the last")
    .argument("<id>", "of the schedule")
    .action(async (id: string) => {
      const { client } = await cli.openClient()
      const schedule = await client.schedules.get(id).describe()
      cli.print(schedule, () => schedulePage(schedule, cli))
    })
}

function addCreate(schedules: Command, cli: Invocation): void {
  schedules
    .command("create")
    .description("create a schedule")
    .argument("<id>", "of the schedule")
    .requiredOption("-w, --workflow <name>", "what it starts")
    .option("--version <version>", "of the workflow, where no server knows the newest")
    .option("--allow-unknown", "also a version that no process knows yet: its instances wait for a worker that has it")
    .option("--cron <expression>", "when, such as '0 2 * * *'")
    .option("--time-zone <zone>", "of the cron expression; default: UTC")
    .option("--every <duration>", "when, as an interval, such as 5m", duration("--every"))
    .option("--input <json>", "of each instance; - reads it from stdin")
    .addOption(new Option("--overlap <what>", "what a time does while an instance is under way").choices(["skip", "queue", "cancel-previous", "allow"]))
    .option("--catch-up <duration>", "fire times that were missed, up to so old", duration("--catch-up"))
    .option("-t, --tag <tag>", "of each instance; may be repeated", collect)
    .option("--timeout <duration>", "of each instance", duration("--timeout"))
    .option("-q, --queue <name>", "the task queue of each instance")
    .option("--start-at <time>", "no times before")
    .option("--end-at <time>", "no times after")
    .option("--paused", "create it paused")
    .addOption(new Option("--if-exists <what>", "what an id that is taken means").choices(["error", "update"]))
    .action(async (id: string, flags: CreateFlags) => {
      const { workflow, version, input: text, cron, timeZone, every, tag: tags, queue, allowUnknown, ...rest } = flags
      if ((cron === undefined) === (every === undefined)) throw usageError("give either --cron or --every")
      const input = await jsonArgument("the input", { text }, cli.io)
      const open = await cli.openClient()
      const known = await knownWorkflow(open, workflow, {
        ...(version === undefined ? undefined : { version }),
        ...(queue === undefined ? undefined : { queue }),
      })
      if (known.instance !== undefined && input !== undefined) refuseOpenValue(open, input, (await open.client.describe(known.instance)).input)
      if (allowUnknown !== true) await open.known?.require(workflow, known.version)
      const times = cron === undefined ? { every } : { cron, ...(timeZone === undefined ? undefined : { timeZone }) }
      const options = {
        ...rest,
        ...(times as ScheduleTimes),
        ...(tags === undefined ? undefined : { tags }),
        ...(input === undefined ? undefined : { input }),
        ...(known.queue === undefined ? undefined : { taskQueue: known.queue }),
      }
      const definition = open.known ? definitionOf(workflow, known.version ?? defaultVersion) : workflow
      await open.client.schedules.create(id, { ...options, workflow: definition })
      const schedule = await open.client.schedules.get(id).describe()
      cli.print(schedule, () => schedulePage(schedule, cli))
      await noteWorker(cli, open)
    })
}

interface CreateFlags extends Omit<ScheduleOptions<unknown>, "input" | "cron" | "timeZone" | "every" | "tags"> {
  readonly workflow: string
  readonly version?: string
  readonly allowUnknown?: boolean
  readonly input?: string
  readonly cron?: string
  readonly timeZone?: string
  readonly every?: number
  readonly tag?: readonly string[]
  readonly queue?: string
}

function addControls(schedules: Command, cli: Invocation): void {
  schedules
    .command("pause")
    .description("let nothing fire until it is resumed")
    .argument("<id>", "of the schedule")
    .option("--reason <text>", "kept with it")
    .action(async (id: string, { reason }: { readonly reason?: string }) => {
      const { client } = await cli.openClient()
      printControl(cli, "pause", await client.schedules.get(id).pause(reason))
    })
  schedules
    .command("resume")
    .description("let it fire again")
    .argument("<id>", "of the schedule")
    .action(async (id: string) => {
      const { client } = await cli.openClient()
      printControl(cli, "resume", await client.schedules.get(id).resume())
    })
  schedules
    .command("delete")
    .description("delete a schedule; its instances stay")
    .argument("<id>", "of the schedule")
    .action(async (id: string) => {
      const { client } = await cli.openClient()
      await client.schedules.get(id).delete()
      cli.print({ id, deleted: true }, () => `deleted schedule ${id}\n`)
    })
}

function printControl(cli: Invocation, action: string, result: ScheduleControlResult): void {
  if (!result.accepted) cli.exitCode = exitCodes.failed
  cli.print(result, () => (result.accepted ? `${action} of schedule ${result.id} accepted\n` : `${cli.style.yellow("no")}: ${result.reason ?? ""}\n`))
}

function addTrigger(schedules: Command, cli: Invocation): void {
  schedules
    .command("trigger")
    .description("start an instance now")
    .argument("<id>", "of the schedule")
    .option("--input <json>", "another input; - reads it from stdin")
    .action(async (id: string, options: { readonly input?: string }) => {
      const input = await jsonArgument("the input", { text: options.input }, cli.io)
      const open = await cli.openClient()
      if (input !== undefined) refuseOpenValue(open, input, (await open.client.schedules.get(id).describe()).input)
      const handle = await open.client.schedules.get(id).trigger(input === undefined ? {} : { input })
      cli.print({ id: handle.id, schedule: id }, () => `${handle.id}\n`)
      await noteWorker(cli, open)
    })
}

function addBackfill(schedules: Command, cli: Invocation): void {
  schedules
    .command("backfill")
    .description("fire times of the past whose instances do not exist")
    .argument("<id>", "of the schedule")
    .requiredOption("--from <time>", "the first: 2026-01-31T12:00:00Z, or how long ago, such as 2d", pastInstant("--from", cli.io.now))
    .option("--to <time>", "the last; default: now", pastInstant("--to", cli.io.now))
    .addOption(new Option("--overlap <what>", "all at once, or one after another").choices(["allow", "queue"]))
    .action(async (id: string, { from, to, overlap }: { readonly from: number; readonly to?: number; readonly overlap?: "allow" | "queue" }) => {
      const open = await cli.openClient()
      const firings = await open.client.schedules.get(id).backfill({ from, to: to ?? cli.io.now(), ...(overlap === undefined ? undefined : { overlap }) })
      cli.print(firings, () =>
        firings.length === 0
          ? "no times in that stretch\n"
          : table(
              firings,
              [
                { title: "FOR", text: ({ scheduledAt }) => shortTime(scheduledAt, cli.io.now()) },
                { title: "OUTCOME", text: ({ outcome }) => outcome, paint: ({ outcome }) => (outcome === "exists" ? cli.style.dim : cli.style.green) },
                { title: "INSTANCE", text: (firing) => firing.id, widthMin: 12 },
              ],
              cli,
            ),
      )
      if (firings.length > 0) await noteWorker(cli, open)
    })
}
