import { formatDuration } from "../../core/duration.ts"
import type { Change } from "../../core/change.ts"
import { relativeTime, shortTime } from "./clock.ts"
import { oneLine, pad, truncate } from "./plain-text.ts"
import type { Paint, Style } from "./style.ts"

const idWidth = 20
const typeWidth = 18

/** A change as `perdure tail` prints it: when, of what, what, and what is worth knowing of it. */
export function changeLine(change: Change, { style, width, now }: { style: Style; width: number; now: number }): string {
  const head = `${style.dim(shortTime(change.at, now))}  ${pad(change.instance, idWidth)}  ${typePaint(style, change.type)(pad(change.type, typeWidth))}`
  const used = shortTime(change.at, now).length + Math.max(idWidth, change.instance.length) + typeWidth + 6
  const details = truncate(oneLine(detailsOf(change, now).join("  ")), Math.max(20, width - used))
  return details === "" ? head.trimEnd() : `${head}  ${details}`
}

function detailsOf({ data, workflow, version, type }: Change, now: number): string[] {
  const { step, attempt, durationMs, child, status, error, reason, event, startAt, wakeAt, retryAt } = data
  return [
    ...(type.startsWith("workflow.") ? [`${workflow}@${version}`] : []),
    ...(step === undefined ? [] : [step]),
    ...(event === undefined ? [] : [event]),
    ...(child === undefined ? [] : [`→ ${child}`]),
    ...(type === "child.completed" && status !== undefined ? [status] : []),
    ...(attempt === undefined || attempt === 1 ? [] : [`attempt ${attempt}`]),
    ...(durationMs === undefined ? [] : [formatDuration(durationMs)]),
    ...[startAt, wakeAt, retryAt].flatMap((at) => (at === undefined ? [] : [relativeTime(at, now)])),
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
