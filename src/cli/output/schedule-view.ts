import { formatDuration } from "../../core/time/duration.ts"
import type { ScheduleDescription, ScheduleSummary } from "../../client-api/schedule-client.ts"
import type { Invocation } from "../invocation.ts"
import { relativeTime, shortTime } from "./clock.ts"
import { oneLine } from "./plain-text.ts"
import { statusStyle, type Paint, type Style } from "./style.ts"
import { table } from "./table.ts"
import { shortValue } from "./value-text.ts"

export function scheduleTable(schedules: readonly ScheduleSummary[], { style, width, io }: Invocation): string {
  if (schedules.length === 0) return "no schedules\n"
  const now = io.now()
  return table(
    schedules,
    [
      { title: "ID", text: ({ id }) => id, widthMin: 10 },
      { title: "WORKFLOW", text: ({ workflow }) => workflow, widthMin: 8 },
      { title: "TIMES", text: ({ times }) => times, widthMin: 12 },
      { title: "OVERLAP", text: ({ overlap }) => overlap, spare: true },
      { title: "STATUS", text: ({ status }) => status, paint: ({ status }) => statusPaint(style, status) },
      { title: "NEXT", text: ({ nextAt }) => (nextAt === undefined ? "" : relativeTime(nextAt, now)), paint: () => style.dim },
    ],
    { width, style },
  )
}

/** The page of a schedule that `perdure schedules show` prints. */
export function schedulePage(schedule: ScheduleDescription, { style, width, io }: Invocation): string {
  const now = io.now()
  const { counts, paused } = schedule
  const facts: (readonly [string, string])[] = [
    ["starts", `${schedule.workflow}, ${schedule.times}`],
    ["overlap", schedule.overlap],
    ...optional("catch up", schedule.catchUpMs === undefined ? undefined : `up to ${formatDuration(schedule.catchUpMs)} old`),
    ...optional("timeout", schedule.timeoutMs === undefined ? undefined : formatDuration(schedule.timeoutMs)),
    ...optional("tags", schedule.tags.length === 0 ? undefined : oneLine(schedule.tags.join(", "))),
    ...optional("input", schedule.input === undefined ? undefined : shortValue(schedule.input, Math.max(20, width - 12))),
    ...optional("paused", paused && `since ${shortTime(paused.at, now)}${paused.reason === undefined ? "" : `: ${oneLine(paused.reason)}`}`),
    ...optional("next", schedule.nextTimes.length === 0 ? undefined : schedule.nextTimes.map((at) => shortTime(at, now)).join("  ")),
    ...optional("waiting", schedule.waiting.length === 0 ? undefined : schedule.waiting.map((at) => shortTime(at, now)).join("  ")),
    ["so far", `${counts.started} started, ${counts.skipped} skipped, ${counts.missed} missed`],
    ...schedule.because.map((reason) => ["because", oneLine(reason)] as const),
    ...schedule.unfired
      .slice(0, 5)
      .map(
        ({ outcome, from, count, reason }) => [outcome, `${shortTime(from, now)}${count === 1 ? "" : ` and ${count - 1} more`}: ${oneLine(reason)}`] as const,
      ),
  ]
  const head = `${style.bold(schedule.id)}  ${statusPaint(style, schedule.status)(schedule.status)}\n`
  const body = facts.map(([name, text]) => `${style.dim(name.padEnd(10))}${text}\n`).join("")
  const recent = schedule.recent.length === 0 ? "" : `\n${recentTable(schedule, { style, width, now })}`
  return head + body + recent
}

function recentTable({ recent }: ScheduleDescription, { style, width, now }: { style: Style; width: number; now: number }): string {
  return table(
    recent,
    [
      { title: "FOR", text: ({ scheduledAt }) => shortTime(scheduledAt, now) },
      { title: "INSTANCE", text: ({ id }) => id, widthMin: 12 },
      { title: "STATUS", text: ({ status }) => status ?? "deleted", paint: ({ status }) => (status === undefined ? style.dim : statusStyle(style, status)) },
      { title: "BY", text: ({ by }) => by ?? "", optional: true },
    ],
    { width, style },
  )
}

function optional(name: string, text: string | undefined): (readonly [string, string])[] {
  return text === undefined ? [] : [[name, text]]
}

function statusPaint(style: Style, status: ScheduleSummary["status"]): Paint {
  return status === "active" ? style.green : status === "paused" ? style.yellow : style.dim
}
