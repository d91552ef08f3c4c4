import type { Encoded, Payload } from "../../core/values/value-codec.ts"
import { childIncarnation } from "../../core/workflow/child-id.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import { isEnding, type Entry, type ParentLink } from "../../core/journal/journal.ts"
import type { TerminalStatus } from "../../core/journal/status.ts"
import type { TurnDraft } from "../runner/turn-draft.ts"
import type { NewMessage } from "../../ports/journal-store.ts"

/** The payload of the message that tells a parent how its child has ended. */
export interface ChildEnding {
  readonly run: number
  /** The child's workflow. Absent: the child was deleted, or a worker of an earlier version sent this. */
  readonly workflow?: string
  readonly status: TerminalStatus
  /** The result, or the error of a failed child, encoded. */
  readonly value: string
  readonly sensitive?: true
  readonly reason?: string
}

/** Marks a cancel that is sent because the parent has ended. A stalled child may not refuse it, because nobody would send it again. */
export const cancelledByParent = "parent"

/**
 * The messages of the turn that ends a run: the result for the run's parent, and a cancel or terminate for each child that the next run does not keep.
 * They are written in the same transaction as the end, so no child is forgotten if the worker dies.
 */
export function endingMessages(state: InstanceState, incarnation: string, entry: Entry, draft: Pick<TurnDraft, "at" | "stored">): readonly NewMessage[] {
  const { at } = draft
  const messages: NewMessage[] = []
  if (state.parent && isEnding(entry)) messages.push(childResultMessage(state.parent, entry, state.workflow, at, (payload) => draft.stored(payload)))
  const kept = entry.type === "run.started" ? (entry.kept ?? []) : []
  for (const [step, { instance, onParentEnd, run, position }] of [...state.children.entries(), ...(state.orphanedChildren?.entries() ?? [])]) {
    if (onParentEnd === "abandon" || kept.some(({ from, to }) => position >= from && position <= to)) continue
    // The message names the incarnation. If the start of the child failed, another instance may have this id, and it must not be ended.
    const end = { instance, incarnation: childIncarnation(incarnation, run, step), kind: onParentEnd, topic: "its parent is over", at } as const
    messages.push(onParentEnd === "cancel" ? { ...end, payload: cancelledByParent } : end)
  }
  return messages
}

/** `workflow`: the child's workflow. `stored`: encodes a value for the store. */
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
