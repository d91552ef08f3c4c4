import type { Command } from "commander"
import { durationMs, formatDuration, type Duration } from "../../core/time/duration.ts"
import type { LimitSettings, WorkflowLimitReport } from "../../client-api/limit-control.ts"
import { usageError } from "../exit-code.ts"
import type { Invocation } from "../invocation.ts"

export function addLimits(program: Command, cli: Invocation): void {
  const limits = program.command("limits").helpCommand(false)
  limits
    .command("show")
    .description("show the limits of a workflow")
    .argument("<workflow>", "its name")
    .action(async (workflow: string) => {
      const { client } = await cli.openClient()
      printLimits(cli, workflow, await client.limits.get(workflow))
    })
  limits
    .command("set")
    .description("change the limits of a workflow while it runs")
    .argument("<workflow>", "its name")
    .option(
      "--concurrency <n>",
      "how many at a time: a number, or unlimited; of several with commas, - for one that stays, or by name: user=5,zone=20",
      concurrency,
    )
    .option("--rate <limit>", "how many may start in a time, such as 10/1m", rate)
    .action(async (workflow: string, options: { readonly concurrency?: LimitSettings["concurrency"]; readonly rate?: LimitSettings["rateLimit"] }) => {
      if (options.concurrency === undefined && options.rate === undefined) throw usageError("say what to set: --concurrency, --rate or both")
      const { client } = await cli.openClient()
      await client.limits.set(workflow, {
        ...(options.concurrency === undefined ? undefined : { concurrency: options.concurrency }),
        ...(options.rate === undefined ? undefined : { rateLimit: options.rate }),
      })
      printLimits(cli, workflow, await client.limits.get(workflow))
    })
  limits
    .command("reset")
    .description("go back to the limits that the code says")
    .argument("<workflow>", "its name")
    .action(async (workflow: string) => {
      const { client } = await cli.openClient()
      await client.limits.reset(workflow)
      printLimits(cli, workflow, await client.limits.get(workflow))
    })
}

function concurrency(value: string): NonNullable<LimitSettings["concurrency"]> {
  const parts = value.split(",")
  if (!parts.some((part) => part.includes("="))) return parts.map((part) => (part === "-" ? undefined : limitOf(part)))
  const named = parts.map((part) => /^([^=]+)=(.*)$/.exec(part) ?? [])
  if (named.some(([, name]) => name === undefined)) throw usageError(`--concurrency: "${value}" names some limits and not others`)
  return Object.fromEntries(named.map(([, name = "", limit = ""]) => [name, limitOf(limit)]))
}

function limitOf(text: string): number {
  if (text === "unlimited") return Infinity
  if (/^\d+$/.test(text)) return Number(text)
  throw usageError(`--concurrency: "${text}" is neither a whole number nor "unlimited"`)
}

function rate(value: string): NonNullable<LimitSettings["rateLimit"]> {
  const [, limit, per] = /^(\d+)\/(.+)$/.exec(value) ?? []
  if (limit === undefined || per === undefined) throw usageError(`--rate: "${value}" is not of the form 10/1m`)
  return { limit: Number(limit), per: durationMs((/^[a-z]/.test(per) ? `1${per}` : per) as Duration, "--rate") }
}

function printLimits(cli: Invocation, workflow: string, report: WorkflowLimitReport): void {
  cli.print(report, () => {
    const declared = (text: string | undefined) => (text === undefined ? "" : cli.style.dim(` (the code says ${text})`))
    const lines = report.concurrency.map(
      (limit) =>
        `${limit.name === undefined ? "" : `${limit.name}: `}${count(limit.limit)} at a time${declared(limit.declared === undefined ? undefined : count(limit.declared))}`,
    )
    const { rateLimit } = report
    if (rateLimit) lines.push(`${starts(rateLimit)}${declared(rateLimit.declared && starts(rateLimit.declared))}`)
    return lines.length === 0 ? `workflow ${workflow} has no limits\n` : `${lines.join("\n")}\n`
  })
}

function count(limit: number): string {
  return limit === Infinity ? "unlimited" : String(limit)
}

function starts({ limit, perMs }: { readonly limit: number; readonly perMs: number }): string {
  return `${count(limit)} may start in ${formatDuration(perMs)}`
}
