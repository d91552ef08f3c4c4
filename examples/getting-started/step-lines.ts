// What an instance looks like to people, as text: a headline, and a line for each step.

import type { InstanceDescription, StepInfo } from "perdure"

type Colour = "green" | "red" | "yellow" | "cyan" | "dim"

export interface Line {
  readonly symbol: string
  readonly colour: Colour
  readonly name: string
  readonly says: string
}

export const isOver = ({ status }: InstanceDescription) => status === "completed" || status === "failed" || status === "cancelled" || status === "terminated"

export function headline(instance: InstanceDescription, now: number): Line {
  const endedAt = isOver(instance) || instance.status === "stalled" ? instance.updatedAt : now
  const colour = instance.status === "completed" ? "green" : isOver(instance) || instance.status === "stalled" ? "red" : "cyan"
  return { symbol: "", colour, name: instance.id, says: `${instance.status}  ${seconds(endedAt - instance.createdAt)}` }
}

export function stepLine(step: StepInfo, now: number): Line {
  const { symbol, colour } = looks[step.status]
  return { symbol, colour, name: step.name, says: whatOf(step, now) }
}

const looks: Record<StepInfo["status"], { readonly symbol: string; readonly colour: Colour }> = {
  running: { symbol: "▸", colour: "cyan" },
  completed: { symbol: "✓", colour: "green" },
  failed: { symbol: "✗", colour: "red" },
  retrying: { symbol: "↻", colour: "yellow" },
  sleeping: { symbol: "◷", colour: "cyan" },
  waiting: { symbol: "…", colour: "cyan" },
  timedOut: { symbol: "✗", colour: "yellow" },
  aborted: { symbol: "-", colour: "dim" },
  cancelled: { symbol: "-", colour: "dim" },
}

function whatOf(step: StepInfo, now: number): string {
  const left = step.wakeAt === undefined ? "" : seconds(step.wakeAt - now)
  const attempt = step.attempts > 1 ? `, attempt ${step.attempts}` : ""
  const attempts = step.attempts > 1 ? `, ${step.attempts} attempts` : ""
  switch (step.status) {
    case "running":
      return `running${attempt}`
    case "retrying":
      return `attempt ${step.attempts} failed: ${messageOf(step.error)}; again in ${left}`
    case "sleeping":
      return `sleeping, ${left} left`
    case "waiting":
      return `waiting for event "${step.event}"${left === "" ? "" : `, at most ${left}`}`
    case "failed":
      return `failed${attempts}: ${messageOf(step.error)}`
    case "completed":
      return `done in ${seconds((step.completedAt ?? now) - step.startedAt)}${attempts}${step.result === undefined ? "" : `  ${JSON.stringify(step.result)}`}`
    case "timedOut":
      return `no event "${step.event}" came in time`
    case "aborted":
    case "cancelled":
      return step.status
  }
}

export function seconds(ms: number): string {
  if (ms > 3_600_000) return `${Math.round(ms / 3_600_000)}h`
  return `${(Math.max(0, ms) / 1000).toFixed(1)}s`
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
