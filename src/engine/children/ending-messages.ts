import type { Encoded, Payload } from "../../core/values/value-codec.ts"
import { childIncarnation } from "../../core/workflow/child-id.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import { isEnding, type Entry, type ParentLink } from "../../core/journal/journal.ts"
import type { TerminalStatus } from "../../core/journal/status.ts"
import type { TurnDraft } from "../runner/turn-draft.ts"
import type { NewMessage } from "../../ports/journal-store.ts"

/** What a child's end brings to its parent. */
export interface ChildEnding {
  readonly run: number
  /** Of the child. Absent: the child was deleted, or a worker of an earlier version sent this. */
  readonly workflow?: string
  readonly status: TerminalStatus
  /** Encoded: the result, or what it failed with. */
  readonly value: string
  readonly sensitive?: true
  readonly reason?: string
}

/** In a cancel that a parent's end sends. It is not to be refused: nobody is left who would ask again. */
export const cancelledByParent = "parent"

/** What goes out with the turn that ends a run: the news to its parent, and what becomes of children that the next run does not keep. */
export function endingMessages(state: InstanceState, incarnation: string, entry: Entry, draft: Pick<TurnDraft, "at" | "stored">): readonly NewMessage[] {
  const { at } = draft
  const messages: NewMessage[] = []
  if (state.parent && isEnding(entry)) messages.push(childResultMessage(state.parent, entry, state.workflow, at, (payload) => draft.stored(payload)))
  const kept = entry.type === "run.started" ? (entry.kept ?? []) : []
  for (const [step, { instance, onParentEnd, run, position }] of [...state.children.entries(), ...(state.orphanedChildren?.entries() ?? [])]) {
    if (onParentEnd === "abandon" || kept.some(({ from, to }) => position >= from && position <= to)) continue
    // By its incarnation: a start that never came to be may have named somebody else.
    const end = { instance, incarnation: childIncarnation(incarnation, run, step), kind: onParentEnd, topic: "its parent is over", at } as const
    messages.push(onParentEnd === "cancel" ? { ...end, payload: cancelledByParent } : end)
  }
  return messages
}

/** `workflow`: of the child. `stored`: the text of a value as it goes into the store. */
export function childResultMessage(
  parent: ParentLink,
  entry: Entry,
  workflow: string | undefined,
  at: number,
  stored: (payload: Payload) => Encoded,
): NewMessage {
  const { instance, incarnation, run, step } = parent
  const ending: ChildEnding = {
    run,
    ...(workflow === undefined ? undefined : { workflow }),
    status: entry.type.slice("run.".length) as TerminalStatus,
    value: "value" in entry && entry.value ? stored(entry.value) : "",
    ...("value" in entry && entry.value?.isSensitive ? { sensitive: true } : undefined),
    ...("reason" in entry && entry.reason !== undefined ? { reason: entry.reason } : undefined),
  }
  return { instance, incarnation, kind: "child", topic: step, payload: JSON.stringify(ending), at }
}
