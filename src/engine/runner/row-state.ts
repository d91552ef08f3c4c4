import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { FlowTraits } from "../../ports/flow-control.ts"
import { deadlineOf, givesBackAtRest } from "../flow-control/flow-traits.ts"
import type { RowState as Row } from "../../ports/journal-store.ts"

export type { Row }

/** What the store's row of an instance should say. */
export function projectRow(state: InstanceState, options: RowOptions): Row {
  const { now, worker, dueAt, nextCheckAt = dueAt } = options
  const run = { run: state.run, runPosition: state.runPosition }
  if (state.ended || state.stalled) {
    const over = { ...run, status: state.status, ...(state.ended ? { endPosition: state.ended.position } : undefined) }
    return options.isHookPending ? { ...over, owner: worker, dueAt: state.hook.retryAt ?? state.at } : over
  }
  const phase = state.phase
  const { flow, withoutSlots, deadlineAt } = options
  const deadline = deadlineOf(flow, deadlineAt)
  if (state.isHeldBack) return state.working ? { ...run, status: "running", owner: worker, ...(phase ? { phase } : undefined) } : { ...run, status: "paused" }
  if (options.isDelayed) return { ...run, status: "queued", dueAt: state.startAt ?? state.startedAt, ...deadline }
  if (withoutSlots)
    return {
      ...run,
      status: withoutSlots.begun ? state.status : "queued",
      ...(phase ? { phase } : undefined),
      dueAt: dueWithoutSlots(state, withoutSlots.before),
      ...deadline,
    }
  const status = options.hasUnreleased ? "running" : state.status
  const common = { ...run, status, ...(phase ? { phase } : undefined) }
  if (status === "running") return { ...common, owner: worker }
  const due = dueAt === undefined ? undefined : { dueAt }
  const sleepsLong = status === "sleeping" && nextCheckAt !== undefined && nextCheckAt > now + options.residentSleepMsMax
  const leaves = !options.isBusy && (sleepsLong || givesBackAtRest(flow))
  return leaves ? { ...common, ...due, ...deadline } : { ...common, ...due, owner: worker }
}

/** What it wanted to be claimed for is still there; after a resume or a cancel it is to go on at once. */
function dueWithoutSlots(state: InstanceState, { status, phase, dueAt }: Partial<Row> = {}): number {
  const isMoved = status === "paused" || status === "stalled" || phase !== state.phase
  return isMoved ? state.at : (dueAt ?? state.startedAt)
}

export function isSameRow(a: Row, b: Row): boolean {
  const isSameTime = a.dueAt === b.dueAt && a.deadlineAt === b.deadlineAt
  return a.status === b.status && a.phase === b.phase && isSameTime && a.owner === b.owner && a.run === b.run && a.runPosition === b.runPosition
}

export interface RowOptions {
  readonly now: number
  readonly worker: string
  /** When a timer of the instance is due, and when the instance looks at its timers again if it stays in memory. */
  readonly dueAt: number | undefined
  readonly nextCheckAt: number | undefined
  readonly residentSleepMsMax: number
  /** A hook is to be called yet. */
  readonly isHookPending: boolean
  /** Something is recorded that its code has not seen, or something that came, or that its code asked for, is not recorded: it has to go on. */
  readonly hasUnreleased: boolean
  /** Its start is in the future. */
  readonly isDelayed: boolean
  /** Attempts live in memory. */
  readonly isBusy: boolean
  /** With limits it leaves memory at rest, so that others may have its slots. */
  readonly flow: FlowTraits | undefined
  /** When it ends, even if it never gets its slots. */
  readonly deadlineAt: number | undefined
  /** It has limits, but no slots: it goes back into line. `before`: what its row said. */
  readonly withoutSlots: { readonly begun: boolean; readonly before: Row | undefined } | undefined
}
