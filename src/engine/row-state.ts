import type { InstanceState } from "../core/instance-state.ts"
import type { InstanceState as Row } from "../ports/journal-store.ts"

export type { Row }

/** What the store's row of an instance should say. */
export function rowOf(state: InstanceState, options: RowOptions): Row {
  const { now, worker, dueAt } = options
  const run = { run: state.run, runPosition: state.runPosition }
  if (state.ended || state.stalled) {
    const over = { ...run, status: state.status, ...(state.ended ? { endPosition: state.ended.position } : undefined) }
    return options.hookPending ? { ...over, owner: worker, dueAt: state.hook.retryAt ?? state.at } : over
  }
  const phase = state.phase
  if (state.isHeldBack) return state.working ? { ...run, status: "running", owner: worker, ...(phase ? { phase } : undefined) } : { ...run, status: "paused" }
  if (options.delayed) return { ...run, status: "queued", dueAt: state.startedAt }
  const status = options.unreleased ? "running" : state.status
  const common = { ...run, status, ...(phase ? { phase } : undefined) }
  if (status === "running") return { ...common, owner: worker }
  const due = dueAt === undefined ? undefined : { dueAt }
  const leaves = status === "sleeping" && !options.busy && dueAt !== undefined && dueAt > now + options.residentSleepMsMax
  return leaves ? { ...common, ...due } : { ...common, ...due, owner: worker }
}

export function sameRow(a: Row, b: Row): boolean {
  return a.status === b.status && a.phase === b.phase && a.dueAt === b.dueAt && a.owner === b.owner && a.run === b.run && a.runPosition === b.runPosition
}

export interface RowOptions {
  readonly now: number
  readonly worker: string
  /** When a timer of it is due. */
  readonly dueAt: number | undefined
  readonly residentSleepMsMax: number
  /** A hook is to be called yet. */
  readonly hookPending: boolean
  /** Something is recorded that its code has not seen, or its code asked for something that is not recorded: it has to go on. */
  readonly unreleased: boolean
  /** Its start is in the future. */
  readonly delayed: boolean
  /** Attempts live in memory. */
  readonly busy: boolean
}
