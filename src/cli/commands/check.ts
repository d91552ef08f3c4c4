import type { Command } from "commander"
import type { CheckProblem, CheckReport } from "../../engine/diagnostics/journal-check.ts"
import { openCheckSource } from "../user-code/check-input.ts"
import { exitCodes } from "../exit-code.ts"
import type { Invocation } from "../invocation.ts"
import { checkWorkflows } from "../user-code/journal-checker.ts"
import { safeLine, safeText } from "../../core/values/safe-text.ts"
import { ProgressLine } from "../output/progress-line.ts"
import { ranWithTypes } from "../user-code/typescript-process.ts"
import { findEntry, shownPath } from "../user-code/workflow-entry.ts"
import { workerOf } from "../wrangler/worker-options.ts"
import { loadWorkflows, type WorkflowModule } from "../user-code/workflow-module.ts"

export function addCheck(program: Command, cli: Invocation): void {
  program
    .command("check")
    .argument("[entry]", "the module that exports your workflows")
    .option("--workflow <name>", "only instances of this workflow")
    .option("--id-prefix <text>", "only instances whose ids begin so")
    .option("--export <file...>", "check the instances in these files (perdure export), and no database")
    .option("--wrangler <file>", "check the workflows of the Worker of this wrangler.jsonc")
    .option("--env <name>", "an environment of the wrangler.jsonc; default: CLOUDFLARE_ENV")
    .option("--strict", "also fail for instances that are stalled already and that the code does not help")
    .addHelpText(
      "after",
      "\nReplays the journals of all instances that are not over against the code, before it is deployed. Writes nothing, runs no step.\nExit code 1: at least one of them would stall or fail, or nobody would offer its version.",
    )
    .action(async (named: string | undefined, options: CheckCommandOptions) => {
      const checked = await checkedCode(cli, named, options)
      if (checked === undefined) return
      const { entry, workflows, options: engineOptions } = checked
      const source = await openCheckSource(cli, options.export, engineOptions)
      const progress = new ProgressLine(cli)
      const filter = {
        ...(options.workflow === undefined ? undefined : { workflow: options.workflow }),
        ...(options.idPrefix === undefined ? undefined : { idPrefix: options.idPrefix }),
      }
      const report = await checkWorkflows(workflows, source.journals, engineOptions, filter, (count) => progress.show(() => `${count} checked`), cli.io.signal)
      progress.clear()
      cli.print(report, () => reportText(report, cli, `${shownPath(entry, cli.io.cwd)} against ${source.name}`))
      const bad = report.problems.length + (options.strict === true ? report.stillStalled.length : 0)
      if (bad > 0) cli.exitCode = exitCodes.failed
    })
}

interface CheckCommandOptions {
  readonly workflow?: string
  readonly idPrefix?: string
  readonly export?: readonly string[]
  readonly strict?: boolean
  readonly wrangler?: string
  readonly env?: string
}

/** Loads the code to check: a module, or a Worker. Undefined: the command has run in another process. */
async function checkedCode(
  cli: Invocation,
  named: string | undefined,
  options: CheckCommandOptions,
): Promise<(Pick<WorkflowModule, "workflows" | "options"> & { entry: string }) | undefined> {
  const settings = workerOf(cli.io, named, options)
  const entry = settings?.file.path ?? findEntry(cli.io, named)
  if (await ranWithTypes(cli, settings?.main ?? entry)) return undefined
  if (settings === undefined) return { entry, ...(await loadWorkflows(entry, cli.io.cwd)) }
  const { loadCheckableWorkflows } = await import("../wrangler/open-worker.ts")
  return { entry, workflows: await loadCheckableWorkflows(settings, cli.io.cwd), options: {} }
}

function reportText({ checked, problems, stillStalled, cured }: CheckReport, { style }: Invocation, what: string): string {
  const line = (problem: CheckProblem, mark: string) =>
    `${mark} ${safeText(problem.instance)} (${safeText(problem.workflow)}@${safeLine(problem.version)}): ${safeText(problem.message)}`
  const lines = [
    ...problems.map((problem) => line(problem, style.red(headings[problem.kind]))),
    ...stillStalled.map((problem) => line(problem, style.yellow("still stalled"))),
    ...cured.map((id) => `${style.green("cured")} ${safeText(id)}: it is stalled, and the code fits; resume it after the deploy`),
  ]
  const verdict =
    problems.length === 0
      ? style.green(`${checked} ${checked === 1 ? "instance fits" : "instances fit"}`)
      : style.red(`${problems.length} of ${checked} ${checked === 1 ? "instance" : "instances"} would not go on`)
  return `${[...lines, `${verdict} (${what})`].join("\n")}\n`
}

const headings = { stalls: "stalls", fails: "fails", "no-version": "no version", unreadable: "unreadable" } as const
