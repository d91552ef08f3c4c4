import { bufferedSentence } from "../../core/journal/event-type-queue.ts"
import { formatDuration } from "../../core/time/duration.ts"
import { isTerminal } from "../../core/journal/status.ts"
import { defaultQueue } from "../../core/workflow/task-queue.ts"
import { thrownAt } from "../../core/values/user-stack.ts"
import type { InstanceDescription } from "../../client-api/client-api.ts"
import { relativeTime, shortTime } from "./clock.ts"
import { errorReport } from "./error-report.ts"
import { oneLine, truncate } from "./plain-text.ts"
import { statusStyle, type Style } from "./style.ts"
import { type Attempt, timeline } from "./timeline.ts"
import { errorText, shortValue, valueTextOrBeginning } from "./value-text.ts"

export interface PageOptions {
  readonly now: number
  readonly width: number
  readonly style: Style
  readonly attempts: ReadonlyMap<string, readonly Attempt[]>
  readonly rowsMax: number
  /** Shows whole values, and errors with their stack. */
  readonly full: boolean
  /** Shows errors with all frames of their stack, also frames of Perdure. */
  readonly debug?: boolean
}

/** The width of the timeline if the output is no terminal. */
const widthDefault = 100

/** The page of an instance that `perdure show` prints. */
export function instancePage(instance: InstanceDescription, options: PageOptions): string {
  const { style, now, width } = options
  const { id, workflow, version, status, phase, run, steps } = instance
  const from = Math.min(instance.createdAt, ...steps.map(({ startedAt }) => startedAt))
  const began = run === 1 ? instance.createdAt : (steps[0]?.startedAt ?? instance.createdAt)
  const took = formatDuration(Math.max(0, (isTerminal(status) ? instance.updatedAt : now) - began))
  const what = statusStyle(style, status)(phase === undefined ? status : `${status} (${phase})`)
  const head = `${style.bold(id)}  ${workflow}@${oneLine(version)}  ${what}${isTerminal(status) ? ` after ${took}` : ""}${run === 1 ? "" : `  run ${run}`}\n`
  const about = [
    `created ${shortTime(instance.createdAt, now)}${isTerminal(status) ? "" : `, ${relativeTime(instance.createdAt, now)}`}`,
    ...(instance.parentId === undefined ? [] : [`child of ${instance.parentId}`]),
    ...(instance.schedule ? [`of schedule ${instance.schedule.id}, for ${shortTime(instance.schedule.scheduledAt, now)}`] : []),
    ...(instance.queue === defaultQueue ? [] : [`queue ${instance.queue}`]),
    ...(instance.tags.length === 0 ? [] : [`tags ${instance.tags.join(", ")}`]),
  ]
  const drawn = timeline(steps, { ...options, width: Number.isFinite(width) ? width : widthDefault, from: run === 1 ? from : began })
  const facts: (readonly [string, string])[] = []
  const value = (name: string, content: unknown) => {
    if (content !== undefined) facts.push([name, options.full ? valueTextOrBeginning(content) : shortValue(content, Math.max(20, width - 8))])
  }
  value("input", instance.input)
  value("memo", instance.memo)
  value("result", instance.result)
  const isWhole = options.full || options.debug === true
  const shownError = (error: unknown) => (isWhole ? errorReport(error, options) : briefError(error))
  if (instance.error !== undefined) facts.push(["error", style.red(shownError(instance.error))])
  const failing = steps.filter(({ status: of, error }) => of === "retrying" && error !== undefined)
  for (const step of failing) facts.push(["error", style.yellow(`${oneLine(`"${step.id}" will be tried again:`)} ${shownError(step.error)}`)])
  for (const events of instance.bufferedEvents ?? []) facts.push(["events", style.yellow(oneLine(bufferedSentence(events, isTerminal(status))))])
  if (instance.notRolledBack) facts.push(["undone", style.red(`not: ${oneLine(instance.notRolledBack.join(", "))}`)])
  const below = facts.map(([name, text]) => `${style.dim(name.padEnd(8))}${text.replaceAll("\n", "\n        ")}\n`).join("")
  return `${head}${style.dim(truncate(oneLine(about.join(" · ")), width))}\n${drawn === "" ? "" : `\n${drawn}`}${below === "" ? "" : `\n${below}`}`
}

/** The error in one line, and the place where it was thrown in another line. */
function briefError(error: unknown): string {
  const at = thrownAt(error)
  return at === undefined ? errorText(error) : `${errorText(error)}\n    at ${oneLine(at)}`
}
