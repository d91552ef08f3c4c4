import { formatDuration } from "../core/duration.ts"
import type { InstanceState } from "../core/instance-state.ts"
import { isTerminal } from "../core/status.ts"
import type { StepInfo } from "../core/step-view.ts"
import { limitAt } from "../core/undoing.ts"
import type { LimitWait } from "../ports/flow-control.ts"
import type { InstanceRow } from "../ports/journal-store.ts"
import type { Why } from "./client.ts"

export interface WhyContext {
  readonly now: number
  /** Versions of the instance's workflow that this engine has. */
  readonly versions: readonly string[]
  /** This engine executes; else it only asks. */
  readonly isWorker: boolean
  readonly cancelGraceMs: number
  /** The limit that it waits for. */
  readonly line?: LimitWait
}

/** Says in plain sentences what an instance is waiting for. */
export function explain(row: InstanceRow, state: InstanceState, steps: readonly StepInfo[], context: WhyContext): Why {
  const because = reasons(row, state, steps, context)
  const next = nextMove(row, state, context)
  return { status: row.status, because, ...(next ? { next } : undefined) }
}

function reasons(row: InstanceRow, state: InstanceState, steps: readonly StepInfo[], context: WhyContext): string[] {
  const { now } = context
  if (isTerminal(row.status)) return [`it is over: ${row.status} at ${time(row.updatedAt)}`]
  const lines: string[] = []
  if (row.owner === undefined && row.status !== "paused" && row.status !== "stalled" && context.isWorker && !context.versions.includes(row.version)) {
    const known = context.versions.length === 0 ? "none of this workflow" : context.versions.map((version) => `"${version}"`).join(", ")
    lines.push(`no worker here has version "${row.version}" of workflow "${row.workflow}" (it has ${known})`)
  }
  if (row.status === "stalled") lines.push(`it is stalled: ${state.stalled?.message ?? "its journal and its code disagree"}`)
  if (row.status === "paused") lines.push(`it is paused since ${time(state.paused?.at ?? row.updatedAt)}; resume it`)
  if (row.phase === "pausing") lines.push("it is pausing: attempts that were running may finish")
  if (row.phase === "cancelling")
    lines.push(`it is being cancelled since ${time(state.cancel?.at ?? row.updatedAt)}${state.cancel?.reason === undefined ? "" : ` (${state.cancel.reason})`}`)
  if (row.phase === "rollingBack") lines.push("it is being rolled back: what it completed is undone before it ends")
  if (context.line) lines.push(lineReason(context.line))
  else if (row.status === "queued")
    lines.push(
      row.dueAt !== undefined && row.dueAt > now
        ? `it starts at ${time(row.dueAt)}, ${formatDuration(row.dueAt - now)} from now`
        : "it waits for a worker to take it",
    )
  for (const step of steps) lines.push(...stepReason(step, now))
  if (lines.length === 0) lines.push(row.owner === undefined ? "it waits for a worker to take it" : "its code is running between steps")
  return lines
}

/** What it waits for, who has it, and how many are before it. */
function lineReason({ use, max, perMs, holders, held, ahead, until }: LimitWait): string {
  const key = use.isKeyed ? `, key ${JSON.stringify(use.key.slice(`${use.workflow}/${use.name}/`.length))}` : ""
  const line = `; ${ahead === 0 ? "it is the next" : `${ahead} before it`}`
  if (use.kind === "rate") {
    const when = until === undefined ? "" : `, at ${time(until)}`
    return `it waits to be started: workflow "${use.workflow}"${key} starts at most ${max} in ${formatDuration(perMs ?? 0)}${line}${when}`
  }
  const names = holders.map((id) => `"${id}"`).join(", ")
  const others = held > holders.length ? ` and ${held - holders.length} more` : ""
  const taken = held === 0 ? "lets nobody in" : `is taken by ${names}${others}`
  return `it waits for a slot: the limit of ${max} at a time of workflow "${use.workflow}"${key} ${taken}${line}`
}

function stepReason(step: StepInfo, now: number): string[] {
  const until = step.wakeAt === undefined ? "" : ` until ${time(step.wakeAt)}, ${formatDuration(Math.max(0, step.wakeAt - now))} from now`
  switch (step.status) {
    case "running":
      return [`step "${step.id}" is running, attempt ${step.attempts}, since ${time(step.startedAt)}`]
    case "retrying":
      return [`step "${step.id}" failed (attempt ${step.attempts}: ${message(step.error)}) and waits${until} to try again`]
    case "sleeping":
      return [`sleep "${step.id}" lasts${until}`]
    case "waiting":
      if (step.type === "child") return [`child "${step.instance}" is not over, since ${time(step.startedAt)}`]
      return [`wait "${step.id}" is for event "${step.event}" since ${time(step.startedAt)}${step.wakeAt === undefined ? "" : `, at most${until}`}`]
    default:
      return []
  }
}

function nextMove(row: InstanceRow, state: InstanceState, { cancelGraceMs, now, line }: WhyContext): Why["next"] {
  if (isTerminal(row.status) || row.status === "paused" || row.status === "stalled") return undefined
  if (line) return line.until === undefined ? undefined : { what: "it starts", at: Math.max(line.until, now) }
  if (row.status === "queued") return row.dueAt === undefined ? undefined : { what: "it starts", at: Math.max(row.dueAt, now) }
  const timer = state.nextTimer()
  const what = { sleep: "wakes up", retry: "is tried again", wait: "times out" } as const
  const limit = { what: state.cancel ? "its cancel is forced" : "its timeout cancels it", at: limitAt(state, cancelGraceMs) }
  const move = timer && timer.dueAt <= limit.at ? { what: `"${timer.id}" ${what[timer.kind]}`, at: timer.dueAt } : limit
  return move.at === Infinity ? undefined : move
}

function time(at: number): string {
  return new Date(at).toISOString()
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
