import { Argument, type Command } from "commander"
import type { Client, InstanceSummary } from "../../client-api/client-api.ts"
import { wholeNumber } from "../option-parsers.ts"
import { bulkRun, type BulkAction, type BulkReport } from "../bulk-run.ts"
import { confirm } from "../confirm.ts"
import { exitCodes, usageError } from "../exit-code.ts"
import { addFilter, filterOf, type FilterOptions } from "../filter.ts"
import type { Invocation } from "../invocation.ts"
import { instanceTable } from "../output/instance-table.ts"
import { oneLine } from "../output/plain-text.ts"
import { Progress } from "../output/progress.ts"
import { noteWorker } from "../target/worker-banner.ts"

const actions = ["pause", "resume", "cancel", "terminate", "restart", "delete"] as const
type Action = (typeof actions)[number]

const shownMax = 20

export function addBulk(program: Command, cli: Invocation): void {
  addFilter(program.command("bulk").addArgument(new Argument("<action>", "what to do").choices(actions)), cli.io.now)
    .option("--all", "all instances there are; else at least one filter is needed")
    .option("--limit <n>", "at most so many, oldest first", wholeNumber("--limit"))
    .option("--reason <text>", "for pause, cancel and terminate")
    .option("--rollback", "for terminate: undo completed steps first")
    .option("--from <step>", "for restart: keep what was recorded before this step")
    .option("--dry-run", "only show what would be done")
    .option("-y, --yes", "do not ask")
    .option("--concurrency <n>", "how many at a time", wholeNumber("--concurrency"), 8)
    .action(async (action: Action, options: BulkFlags) => {
      const filter = filterOf(options)
      if (Object.keys(filter).length === 0 && options.all !== true)
        throw usageError("say which instances: give a filter such as --workflow or --status, or --all")
      const open = await cli.openClient()
      const instances = await matching(open.client, filter, options.limit ?? Infinity)
      if (options.dryRun === true || instances.length === 0) return printPlan(cli, action, instances)
      await confirm(cli, `${capital(action)} ${many(instances.length)}?`, options.yes)
      const progress = new Progress(cli.io, instances.length)
      let finished = 0
      cli.io.signal.addEventListener("abort", () => {
        progress.clear()
        cli.note(`interrupted: ${finished} of ${many(instances.length)} done`)
      })
      const report = await bulkRun(
        instances.map(({ id }) => id),
        actionOf(open.client, action, options),
        {
          concurrency: options.concurrency,
          signal: cli.io.signal,
          onProgress: (count, failed) => {
            finished = count
            progress.update(count, failed)
          },
        },
      )
      if (cli.io.signal.aborted) return
      progress.clear()
      if (report.failed.length > 0) cli.exitCode = exitCodes.failed
      cli.print({ action, ...report }, () => reportText(action, report, cli))
      if (action !== "delete" && report.done > 0) await noteWorker(cli, open)
    })
}

interface BulkFlags extends FilterOptions {
  readonly all?: boolean
  readonly limit?: number
  readonly reason?: string
  readonly rollback?: boolean
  readonly from?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly concurrency: number
}

/** Reads all pages before the first action, because an action may move instances between pages. */
async function matching(client: Client, filter: ReturnType<typeof filterOf>, max: number): Promise<readonly InstanceSummary[]> {
  const instances: InstanceSummary[] = []
  let cursor: string | undefined
  do {
    const page = await client.list({
      ...filter,
      order: "oldest",
      limit: Math.min(1_000, max - instances.length),
      ...(cursor === undefined ? undefined : { cursor }),
    })
    instances.push(...page.instances)
    cursor = page.cursor
  } while (cursor !== undefined && instances.length < max)
  return instances
}

function actionOf(client: Client, action: Action, { reason, rollback, from }: BulkFlags): BulkAction {
  const terminate = { ...(reason === undefined ? undefined : { reason }), ...(rollback === undefined ? undefined : { rollback }) }
  const control = (id: string) => {
    switch (action) {
      case "pause":
        return client.pause(id, reason)
      case "resume":
        return client.resume(id)
      case "cancel":
        return client.cancel(id, reason)
      case "terminate":
        return client.terminate(id, terminate)
      case "restart":
        return client.restart(id, from === undefined ? {} : { from })
      case "delete":
        return client.delete(id)
    }
  }
  return async (id) => {
    const result = await control(id)
    return !("accepted" in result) || result.accepted ? undefined : (result.reason ?? "nothing changed")
  }
}

function printPlan(cli: Invocation, action: Action, instances: readonly InstanceSummary[]): void {
  const document = { action, dryRun: true, matched: instances.length, instances: instances.map(({ id }) => id) }
  cli.print(document, () => {
    const more = instances.length - shownMax
    const rest = more > 0 ? `… and ${more.toLocaleString("en")} more\n` : ""
    return instances.length === 0
      ? "no instances match\n"
      : `${instanceTable(instances.slice(0, shownMax), cli)}${rest}would ${action} ${many(instances.length)}\n`
  })
}

function reportText(action: Action, { matched, done, skipped, failed }: BulkReport, { style }: Invocation): string {
  const lines = [`${style.green(`${done.toLocaleString("en")} of ${many(matched)}`)}: ${action}${action === "delete" ? "d" : " accepted"}`]
  for (const [reason, count] of grouped(skipped.map((item) => item.reason))) lines.push(`${style.yellow(`${count} unchanged`)}: ${oneLine(reason)}`)
  for (const { id, code, message } of failed.slice(0, shownMax)) lines.push(`${style.red(`failed ${id}`)} ${code}: ${oneLine(message)}`)
  if (failed.length > shownMax) lines.push(style.red(`… and ${(failed.length - shownMax).toLocaleString("en")} more failed`))
  return `${lines.join("\n")}\n`
}

function grouped(reasons: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return counts
}

function many(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "instance" : "instances"}`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
