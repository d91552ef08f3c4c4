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

/** A turn that is written in place of the owner. */
export interface ForcedTurnContent {
  readonly entries: readonly Entry[]
  readonly run: number
  /** The run goes on: what is in its inbox stays there, and its parent and children are told nothing. */
  readonly goesOn?: boolean
  /** `position`: of the last entry. `at`: when it is written. What is due then is told of, what is due a moment later is not. */
  readonly state: (position: number, at: number) => RowState
  /** What its tags and its memo become. */
  readonly annotations?: ReturnType<typeof annotationsOf>
}

/** What is to be written in place of the owner; or why nothing is. */
export type ForcedTurn = { readonly refused: string } | ForcedTurnContent

/** An instance, and the entries of the run that it is in. */
export interface CurrentRun {
  readonly row: InstanceRow
  readonly recorded: readonly Recorded[]
  /** The id of the turn that its journal ends with. */
  readonly lastTurn: string
}

type Decide = (row: InstanceRow, recorded: readonly Recorded[]) => ForcedTurn | Promise<ForcedTurn>

/** Writes a turn at the next position in place of the owner, which loses what it was about to write. */
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
    const answer = await writeSeized(worker, current, decision)
    if (answer !== "lost") return answer
  }
  throw new PerdureError("STORE_FAILED", `instance "${id}" changes too fast: ${triesMax} attempts to write its next turn were lost; pause it first`)
}

/** Undefined: the instance moved on between the two reads, and what the row says is over. */
export async function readCurrentRun(store: Store, row: InstanceRow): Promise<CurrentRun | undefined> {
  const { recorded, lastTurn } = await loadRun(store.journal, row)
  const isEqualStart = recorded[0]?.run === row.run && recorded.some(({ entry }) => isEnding(entry)) === isTerminal(row.status)
  return isEqualStart ? { row, recorded, lastTurn } : undefined
}

/** Writes the turn at the next position. `lost`: somebody else has written there. */
export async function writeSeized(worker: Worker, { row, recorded, lastTurn }: CurrentRun, seized: ForcedTurnContent): Promise<ControlResult | "lost"> {
  const position = recorded.reduce((last, item) => Math.max(last, item.position), 0) + 1
  const draft = new TurnDraft(position, Math.max(worker.host.now(), recorded.at(-1)?.at ?? 0), worker.settings.codecs)
  for (const entry of seized.entries) draft.add(entry)
  const { tags, memo } = seized.annotations ?? {}
  draft.tags = tags
  draft.memo = memo && draft.stored(memo)
  const last = seized.entries.at(-1)
  if (!seized.goesOn) {
    draft.discardInbox = true
    draft.sends = last === undefined || isTerminal(row.status) ? [] : endingMessages(foldOf(recorded), row.incarnation, last, draft)
  }
  const state = seized.state(draft.end, draft.at)
  const turn = draft.seal(worker.nextTurnId(), row, seized.run, state, lastTurn)
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

/** `reason`: why the control changes nothing. */
export function controlResult({ id, status, phase }: InstanceRow, reason?: string): ControlResult {
  return { id, accepted: reason === undefined, status, ...(phase ? { phase } : undefined), ...(reason === undefined ? undefined : { reason }) }
}
