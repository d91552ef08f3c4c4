import { PerdureError } from "../core/errors.ts"
import { InstanceState as State } from "../core/instance-state.ts"
import { isEnding, type Entry, type Recorded } from "../core/journal.ts"
import type { annotationsOf } from "../core/run-history.ts"
import { isTerminal } from "../core/status.ts"
import type { InstanceRow, InstanceState } from "../ports/journal-store.ts"
import type { Store } from "../ports/store.ts"
import type { ControlResult } from "./client.ts"
import { existingRow } from "./existing-row.ts"
import { partingMessages } from "./family-ties.ts"
import { loadRun } from "./loader.ts"
import { TurnDraft } from "./turn-draft.ts"
import type { Worker } from "./worker.ts"

const triesMax = 100

/** What is to be written in place of the owner; or why nothing is. */
export type Seizure =
  | { readonly refused: string }
  | {
      readonly entry: Entry
      readonly run: number
      /** `at`: when it is written. What is due then is told of, what is due a moment later is not. */
      readonly state: (position: number, at: number) => InstanceState
      /** What its tags and its memo become. */
      readonly annotations?: ReturnType<typeof annotationsOf>
    }

type Decide = (row: InstanceRow, recorded: readonly Recorded[]) => Seizure | Promise<Seizure>

/** Writes a turn at the next position in place of the owner, which loses what it was about to write. */
export async function seize({ store, worker }: { store: Store; worker: Worker }, id: string, reason: unknown, decide: Decide): Promise<ControlResult> {
  for (let tries = 0; tries < triesMax; tries++) {
    const row = await existingRow(store, id)
    const { recorded } = await loadRun(store.journal, row)
    // It moved on between the two reads: what the row says is over.
    if (recorded[0]?.run !== row.run || recorded.some(({ entry }) => isEnding(entry)) !== isTerminal(row.status)) continue
    const decision = await decide(row, recorded)
    if ("refused" in decision) return controlResult(row, decision.refused)
    worker.evict(id, reason)
    const position = recorded.reduce((last, item) => Math.max(last, item.position), 0) + 1
    const draft = new TurnDraft(position, Math.max(worker.host.now(), recorded.at(-1)?.at ?? 0), worker.settings.codecs)
    draft.add(decision.entry)
    draft.discardInbox = true
    const { tags, memo } = decision.annotations ?? {}
    draft.tags = tags
    draft.memo = memo && draft.stored(memo)
    draft.sends = isTerminal(row.status) ? [] : partingMessages(worker.features, foldOf(recorded), row.incarnation, decision.entry, draft)
    const state = decision.state(position, draft.at)
    const turn = draft.seal(worker.nextTurnId(), row, decision.run, state)
    const outcome = await new Promise((onResult) => worker.committer.submit(turn, { onResult }))
    if (outcome === "committed") {
      worker.onSent(draft.sends)
      if (isTerminal(state.status)) worker.ended(id, decision.entry)
      return controlResult({ ...row, ...state })
    }
    if (outcome !== "lost") throw (outcome as { error: unknown }).error
  }
  throw new PerdureError("STORE_FAILED", `instance "${id}" moves too fast: ${triesMax} attempts to write its next turn were lost; pause it first`)
}

function foldOf(recorded: readonly Recorded[]): State {
  const state = new State()
  for (const item of recorded) state.apply(item)
  return state
}

/** `reason`: why the control changes nothing. */
export function controlResult({ id, status, phase }: InstanceRow, reason?: string): ControlResult {
  return { id, accepted: reason === undefined, status, ...(phase ? { phase } : undefined), ...(reason === undefined ? undefined : { reason }) }
}
