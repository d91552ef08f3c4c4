import { PerdureError } from "../../core/errors.ts"
import { InstanceState as State } from "../../core/journal/instance-state.ts"
import { isEnding, type Entry, type Recorded } from "../../core/journal/journal.ts"
import type { annotationsOf } from "../../core/journal/run-history.ts"
import { isTerminal } from "../../core/journal/status.ts"
import type { InstanceRow, RowState } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { ControlResult } from "../../client-api/client-api.ts"
import { existingRow } from "./instance-lookup.ts"
import { endingMessages } from "../children/ending-messages.ts"
import { loadRun } from "../runner/run-loader.ts"
import { TurnDraft } from "../runner/turn-draft.ts"
import type { Worker } from "../worker/worker.ts"

const triesMax = 100

/** The content of a turn that is written in place of the owner. */
export interface ForcedTurnContent {
  readonly entries: readonly Entry[]
  readonly run: number
  /** True if the run continues: its inbox stays as it is, and its parent and its children get no message. */
  readonly runContinues?: boolean
  /** `position` is that of the last entry, `at` the time of the turn. A row that is due at `at` counts as due now, so workers are told at once. */
  readonly state: (position: number, at: number) => RowState
  /** The new tags and the new memo of the instance. */
  readonly annotations?: ReturnType<typeof annotationsOf>
}

/** The turn to write in place of the owner, or the reason for writing none. */
export type ForcedTurn = { readonly refused: string } | ForcedTurnContent

/** An instance and the entries of its current run. */
export interface CurrentRun {
  readonly row: InstanceRow
  readonly recorded: readonly Recorded[]
  /** The id of the last turn in the journal. */
  readonly lastTurn: string
}

type Decide = (row: InstanceRow, recorded: readonly Recorded[]) => ForcedTurn | Promise<ForcedTurn>

/** Writes a turn at the next position in place of the owner. The owner's own turn at that position is lost, and the owner drops the instance. */
export async function writeForcedTurn(
  { store, worker }: { store: Store; worker: Worker },
  id: string,
  reason: unknown,
  decide: Decide,
): Promise<ControlResult> {
  for (let tries = 0; tries < triesMax; tries++) {
    const current = await readCurrentRun(store, await existingRow(store, id))
    if (current === undefined) continue
    const { row, recorded } = current
    const decision = await decide(row, recorded)
    if ("refused" in decision) return controlResult(row, decision.refused)
    worker.evict(id, reason)
    const result = await tryForcedTurn(worker, current, decision)
    if (result !== "lost") return result
  }
  throw new PerdureError("STORE_FAILED", `instance "${id}" changes too fast: ${triesMax} attempts to write its next turn were lost; pause it first`)
}

/** Returns undefined if the instance advanced between the reads of its row and of its journal, so that the two disagree. */
export async function readCurrentRun(store: Store, row: InstanceRow): Promise<CurrentRun | undefined> {
  const { recorded, lastTurn } = await loadRun(store.journal, row)
  const isConsistent = recorded[0]?.run === row.run && recorded.some(({ entry }) => isEnding(entry)) === isTerminal(row.status)
  return isConsistent ? { row, recorded, lastTurn } : undefined
}

/** Writes the turn at the next position. Returns "lost" if another turn is there already. */
export async function tryForcedTurn(worker: Worker, { row, recorded, lastTurn }: CurrentRun, content: ForcedTurnContent): Promise<ControlResult | "lost"> {
  const position = recorded.reduce((last, item) => Math.max(last, item.position), 0) + 1
  const draft = new TurnDraft(position, Math.max(worker.host.now(), recorded.at(-1)?.at ?? 0), worker.settings.codecs)
  for (const entry of content.entries) draft.add(entry)
  const { tags, memo } = content.annotations ?? {}
  draft.tags = tags
  draft.memo = memo && draft.stored(memo)
  const last = content.entries.at(-1)
  if (!content.runContinues) {
    draft.discardInbox = true
    draft.endAllTasks()
    draft.sends = last === undefined || isTerminal(row.status) ? [] : endingMessages(foldOf(recorded), row.incarnation, last, draft)
  }
  const state = content.state(draft.end, draft.at)
  const turn = draft.seal(worker.nextTurnId(), row, content.run, state, lastTurn)
  const outcome = await new Promise((onResult) => worker.committer.submit(turn, { onResult }))
  if (outcome === "lost") return "lost"
  if (outcome !== "committed") throw (outcome as { error: unknown }).error
  worker.onSent(draft.sends ?? [])
  if (last && isTerminal(state.status)) worker.announceEnd(row.id, last)
  const { phase: _, ...before } = row
  return controlResult({ ...before, ...state })
}

export function foldOf(recorded: readonly Recorded[]): State {
  const state = new State()
  for (const item of recorded) state.apply(item)
  return state
}

/** A `reason` says why the control changes nothing. */
export function controlResult({ id, status, phase }: InstanceRow, reason?: string): ControlResult {
  return { id, accepted: reason === undefined, status, ...(phase ? { phase } : undefined), ...(reason === undefined ? undefined : { reason }) }
}
