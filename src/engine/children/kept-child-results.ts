import { Payload } from "../../core/values/value-codec.ts"
import { childIncarnation } from "../../core/workflow/child-id.ts"
import { InstanceState } from "../../core/journal/instance-state.ts"
import { isTerminal } from "../../core/journal/status.ts"
import type { InstanceRow, NewMessage } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import { notFound } from "../instances/instance-errors.ts"
import { readEnding } from "../instances/instance-lookup.ts"
import type { LoadedRun } from "../runner/run-loader.ts"
import { childResultMessage } from "./ending-messages.ts"

/**
 * The results of children that a restarted run keeps. A child that ended before the restart sent its result to the earlier run. So the worker that
 * loads the restarted run reads the ends of these children. Results that are in the inbox of this run already are left out.
 */
export async function keptChildResults(store: Store, { id, incarnation, runPosition }: InstanceRow, { recorded }: LoadedRun): Promise<readonly NewMessage[]> {
  const [start] = recorded
  if (start?.entry.type !== "run.started" || start.entry.kept === undefined) return []
  const state = new InstanceState()
  for (const item of recorded) state.apply(item)
  const { at } = state
  const results: NewMessage[] = []
  for (const [step, { instance, run, position }] of state.children.entries()) {
    if (position > runPosition) continue
    const child = await store.directory.get(instance)
    const isSameChild = child?.incarnation === childIncarnation(incarnation, run, step)
    const parent = { instance: id, incarnation, run, step }
    if (child && isSameChild && isTerminal(child.status))
      results.push(childResultMessage(parent, await readEnding(store, child), child.workflow, at, storedText))
    // The child was started and is deleted, so it will never send a result.
    else if (!isSameChild && !state.steps.has(step))
      results.push(childResultMessage(parent, { type: "run.failed", value: Payload.ofError(notFound(instance)) }, undefined, at, storedText))
  }
  if (results.length === 0) return results
  // The inbox is read after the children. The end of a child and its message are written together, so a message that is missing now is not on its way.
  const unread = await store.journal.readInbox([id])
  return results.filter(({ topic }) => !unread.some((message) => message.kind === "child" && message.topic === topic))
}

/** The message goes to the runner directly, and not through the store. */
function storedText(payload: Payload): string {
  return payload.coded ?? payload.text
}
