import { formatDuration } from "../../core/time/duration.ts"
import type { StepInfo } from "../../core/journal/step-info.ts"
import { relativeTime, shortTime } from "./clock.ts"
import { oneLine, pad, textWidth, truncate } from "./plain-text.ts"
import type { Paint, Style } from "./style.ts"
import { foldRows, treeOf } from "./timeline-rows.ts"

/**
 * The steps of a run as bars over time.
 *
 *   █ an attempt that runs or completed   ╳ the end of a failed attempt  · between two attempts
 *   ░ a sleep   ▒ a wait or a child       ▸ the step is not over         ─ folded steps
 */
export interface Attempt {
  readonly from: number
  /** Undefined while the attempt runs. */
  readonly to?: number
  readonly failed?: boolean
}

export interface TimelineOptions {
  /** When the run began. */
  readonly from: number
  readonly now: number
  readonly width: number
  readonly style: Style
  /** The attempts by step, for steps with more than one attempt. */
  readonly attempts?: ReadonlyMap<string, readonly Attempt[]>
  /** More rows than this are folded. */
  readonly rowsMax: number
}

const labelMax = 32
const barMin = 10

export function timeline(steps: readonly StepInfo[], options: TimelineOptions): string {
  const { from, now, width, style } = options
  if (steps.length === 0) return ""
  const rows = foldRows(treeOf(steps), options.rowsMax)
  const to = Math.max(from + 1, ...steps.map(({ completedAt }) => completedAt ?? now))
  const labels = rows.map((row) => oneLine(row.label))
  const asides = rows.map((row) => (row.step ? asideOf(row.step, now) : formatDuration(row.to(now) - row.from)))
  const asideWidth = Math.max(...asides.map(textWidth))
  const labelWidth = Math.min(Math.max(...labels.map(textWidth)), labelMax, Math.max(8, Math.floor(width * 0.35)))
  const barWidth = Math.max(barMin, width - labelWidth - asideWidth - 4)
  const scale: Scale = { from, to, cells: barWidth }
  const lines = rows.map((row, index) => {
    const cells = row.step ? barOf(row.step, options, scale) : filled(scale, row.from, row.to(now), "─")
    const bar = paintBar(cells, row.step ? stepStyle(style, row.step) : style.dim, style)
    const aside = truncate(asides[index] ?? "", Math.max(8, width - labelWidth - barWidth - 4))
    const label = pad(truncate(labels[index] ?? "", labelWidth), labelWidth)
    return `${row.step ? label : style.dim(label)}  ${bar}  ${(row.step ? asideStyle(style, row.step) : style.dim)(aside)}`.trimEnd()
  })
  return `${[axis(labelWidth, scale, style), ...lines].join("\n")}\n`
}

function axis(labelWidth: number, { from, to, cells }: Scale, style: Style): string {
  const end = formatDuration(to - from)
  return style.dim(`${" ".repeat(labelWidth + 2)}0${pad(end, cells - 1, "right")}`)
}

interface Scale {
  readonly from: number
  readonly to: number
  readonly cells: number
}

function cellOf({ from, to, cells }: Scale, at: number): number {
  return Math.min(cells - 1, Math.max(0, Math.floor(((at - from) / (to - from)) * cells)))
}

/** A row of blanks with one filled range, which has at least one cell. */
function filled(scale: Scale, from: number, to: number, character: string): string[] {
  const cells = Array.from({ length: scale.cells }, () => " ")
  fill(cells, scale, from, to, character)
  return cells
}

function fill(cells: string[], scale: Scale, from: number, to: number, character: string): void {
  const first = cellOf(scale, from)
  // A bar that ends where the next bar begins does not cover the first cell of the next bar.
  const last = Math.max(first, cellOf(scale, Math.max(from, to - (scale.to - scale.from) / scale.cells / 2)))
  for (let cell = first; cell <= last; cell++) cells[cell] = character
}

function characterOf(type: StepInfo["type"]): string {
  if (type === "sleep") return "░"
  return type === "wait" || type === "child" || type === "condition" ? "▒" : "█"
}

function barOf(step: StepInfo, { now, attempts }: TimelineOptions, scale: Scale): string[] {
  const end = step.completedAt ?? now
  const each = attempts?.get(step.id)
  const character = characterOf(step.type)
  const cells = filled(scale, step.startedAt, end, each ? "·" : step.status === "retrying" ? "·" : character)
  for (const { from, to } of each ?? []) fill(cells, scale, from, to ?? now, character)
  for (const { to, failed } of each ?? []) if (failed === true && to !== undefined) cells[cellOf(scale, to)] = "╳"
  if (step.status === "failed") cells[cellOf(scale, end)] = "╳"
  if (step.completedAt === undefined) cells[cellOf(scale, end)] = "▸"
  return cells
}

/** Paints failed attempts red, the time between attempts pale, and all other cells in the colour of the step. */
function paintBar(cells: readonly string[], paint: Paint, style: Style): string {
  return cells
    .join("")
    .trimEnd()
    .replace(/╳|·+|[^╳· ]+/g, (part) => (part === "╳" ? style.red : part.startsWith("·") ? style.dim : paint)(part))
    .concat(" ".repeat(cells.length - cells.join("").trimEnd().length))
}

function stepStyle(style: Style, { status, type }: StepInfo): Paint {
  switch (status) {
    case "completed":
      return characterOf(type) === "█" ? style.green : style.cyan
    case "failed":
    case "timedOut":
      return style.red
    case "running":
      return style.blue
    case "retrying":
      return style.yellow
    case "sleeping":
    case "waiting":
      return style.cyan
    case "aborted":
    case "cancelled":
      return style.magenta
  }
}

function asideStyle(style: Style, step: StepInfo): Paint {
  return step.status === "completed" ? style.dim : stepStyle(style, step)
}

function asideOf(step: StepInfo, now: number): string {
  const took = formatDuration(Math.max(0, (step.completedAt ?? now) - step.startedAt))
  const tries = step.attempts > 1 ? ` ×${step.attempts}` : ""
  switch (step.status) {
    case "completed":
      return `${took}${tries}`
    case "timedOut":
      return `timed out ${took}`
    case "running":
      return `running ${took}${tries}`
    case "retrying":
      return `retry ${step.wakeAt === undefined ? "soon" : relativeTime(step.wakeAt, now)}${tries}`
    case "sleeping":
      return step.wakeAt === undefined ? "sleeping" : `${lastingOf(step, step.wakeAt)}, until ${shortTime(step.wakeAt, now)}`
    case "waiting":
      return step.wakeAt === undefined
        ? `waiting since ${shortTime(step.startedAt, now)}`
        : `at most ${lastingOf(step, step.wakeAt)}, until ${shortTime(step.wakeAt, now)}`
    case "failed":
    case "aborted":
    case "cancelled":
      return `${step.status} ${took}${tries}`
  }
}

/** The whole duration of a sleep or a wait, as text. */
function lastingOf({ startedAt }: StepInfo, wakeAt: number): string {
  return formatDuration(Math.max(0, wakeAt - startedAt))
}
