import type { StepInfo } from "../../core/journal/step-info.ts"

/** A line of a timeline: a step, or a range of folded steps. */
export interface Row {
  readonly step?: StepInfo
  readonly label: string
  readonly from: number
  readonly to: (now: number) => number
}

/** The steps in the order of their first ask. Nested steps follow the step around them. */
export function treeOf(steps: readonly StepInfo[]): readonly Row[] {
  const inside = new Map<string | undefined, StepInfo[]>()
  const known = new Set(steps.map(({ id }) => id))
  for (const step of steps) {
    const parent = step.parentId !== undefined && known.has(step.parentId) ? step.parentId : undefined
    const siblings = inside.get(parent)
    if (siblings) siblings.push(step)
    else inside.set(parent, [step])
  }
  const rows: Row[] = []
  const add = (parent: string | undefined, depth: number) => {
    for (const step of inside.get(parent) ?? []) {
      rows.push(stepRow(step, depth))
      add(step.id, depth + 1)
    }
  }
  add(undefined, 0)
  return rows
}

function stepRow(step: StepInfo, depth: number): Row {
  return { step, label: "  ".repeat(depth) + labelOf(step), from: step.startedAt, to: (now) => step.completedAt ?? now }
}

function labelOf({ id, name, type, instance, event, queue }: StepInfo): string {
  const occurrence = /#(\d+)$/.exec(id)?.[1]
  const named = occurrence === undefined ? name : `${name}#${occurrence}`
  switch (type) {
    case "rollback":
      return `undo ${named}`
    case "child":
      return instance === undefined ? named : `${named} → ${instance}`
    case "wait":
      return event === undefined || event === name ? named : `${named} (${event})`
    case "activity":
      return queue === undefined ? named : `${named} on ${queue}`
    default:
      return named
  }
}

const foldMin = 3

/** Keeps the first rows, the last rows, and the remarkable rows between them. Each range of other rows becomes one row. */
export function foldRows(rows: readonly Row[], rowsMax: number): readonly Row[] {
  if (rows.length <= rowsMax) return rows
  const edge = Math.max(1, Math.floor(rowsMax / 4))
  const keep = new Set([...rows.keys()].filter((index) => index < edge || index >= rows.length - edge))
  for (const [index, { step }] of rows.entries()) {
    if (keep.size >= rowsMax) break
    if (step && (step.status !== "completed" || step.attempts > 1)) keep.add(index)
  }
  const folded: Row[] = []
  for (let index = 0; index < rows.length;) {
    let end = index
    while (end < rows.length && !keep.has(end)) end++
    const stretch = rows.slice(index, end)
    if (stretch.length < foldMin) folded.push(...stretch)
    else folded.push(foldOf(stretch))
    const row = rows[end]
    if (row) folded.push(row)
    index = end + 1
  }
  return folded
}

function foldOf(rows: readonly Row[]): Row {
  const odd = rows.filter(({ step }) => step?.status !== "completed").length
  return {
    label: `… ${rows.length} steps${odd === 0 ? "" : `, ${odd} not completed`}`,
    from: rows.reduce((first, { from }) => Math.min(first, from), Infinity),
    to: (now) => rows.reduce((last, row) => Math.max(last, row.to(now)), 0),
  }
}
