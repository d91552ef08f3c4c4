import { formatDuration } from "../../core/time/duration.ts"
import type { Change } from "../../core/journal/change.ts"
import { shortTime } from "./clock.ts"
import { oneLine, pad, truncate } from "./plain-text.ts"
import type { Paint, Style } from "./style.ts"

const idWidthMax = 20
/** The width of the id on a narrow terminal. */
const idWidthMin = 12
const typeWidth = 18
const detailsWidthMin = 12

/** A change as `perdure tail` prints it: the time, the instance, the kind of change, and its details. */
export function changeLine(change: Change, { style, width, now }: { style: Style; width: number; now: number }): string {
  const time = shortTime(change.at, now)
  const idWidth = width < 80 ? idWidthMin : Math.max(idWidthMax, change.instance.length)
  const id = pad(truncate(change.instance, idWidth), idWidth)
  const head = `${style.dim(time)}  ${id}  ${typePaint(style, change.type)(pad(change.type, typeWidth))}`
  const details = truncate(oneLine(detailsOf(change).join("  ")), Math.max(detailsWidthMin, width - time.length - idWidth - typeWidth - 6))
  return details === "" ? head.trimEnd() : `${head}  ${details}`
}

function detailsOf({ at, data, workflow, version, type }: Change): string[] {
  const { step, attempt, queue, durationMs, child, status, error, reason, event, startAt, wakeAt, retryAt } = data
  return [
    ...(type.startsWith("workflow.") ? [`${workflow}@${version}`] : []),
    ...(step === undefined ? [] : [step]),
    ...(queue === undefined ? [] : [`on ${queue}`]),
    ...(event === undefined ? [] : [event]),
    ...(child === undefined ? [] : [`→ ${child}`]),
    ...(type === "child.completed" && status !== undefined ? [status] : []),
    ...(attempt === undefined || attempt === 1 ? [] : [`attempt ${attempt}`]),
    ...(durationMs === undefined ? [] : [formatDuration(durationMs)]),
    // The duration counts from the change, also if the change is old.
    ...[startAt, retryAt].flatMap((then) => (then === undefined ? [] : [`in ${formatDuration(Math.max(0, then - at))}`])),
    ...(wakeAt === undefined ? [] : [`for ${formatDuration(Math.max(0, wakeAt - at))}`]),
    ...(error === undefined ? [] : [`${error.name}: ${error.message}`]),
    ...(reason === undefined || error !== undefined ? [] : [reason]),
  ]
}

function typePaint(style: Style, type: Change["type"]): Paint {
  if (/\.(failed|stalled|exhausted)$/.test(type)) return style.red
  if (/\.(cancelled|terminated)$/.test(type)) return style.magenta
  if (/\.(scheduled|paused|timed_out)$/.test(type)) return style.yellow
  if (type.endsWith(".completed")) return style.green
  return type.startsWith("workflow.") ? style.blue : style.cyan
}
