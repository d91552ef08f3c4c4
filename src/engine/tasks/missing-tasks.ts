import type { Recorded } from "../../core/journal/journal.ts"
import type { OpenStep } from "../../core/journal/open-step.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import { taskId } from "./task-id.ts"

/**
 * The open steps whose tasks neither exist nor have ended. That is so for a fork and for an imported instance, whose journals were copied without tasks, and
 * after a restart from a step. Their attempts begin again. The tasks are looked up before the inbox: a task that ends in between has its message there.
 */
export async function missingTasks(store: Store, { id, incarnation }: InstanceRow, recorded: readonly Recorded[]): Promise<ReadonlySet<string>> {
  const open = openTasks(recorded)
  if (open.size === 0) return new Set()
  const { tasks, sentTasks } = store
  if (tasks === undefined && sentTasks === undefined) return new Set(open.keys())
  const steps = new Map([...open].map(([step, attempt]) => [taskId(incarnation, attempt), step]))
  const ids = [...steps.keys()]
  for (const task of sentTasks?.open(ids) ?? (await tasks?.find(ids))?.map((row) => row.id) ?? []) steps.delete(task)
  if (steps.size === 0) return new Set()
  for (const { kind, eventId } of await store.journal.readInbox([id])) if (kind === "activity" && eventId !== undefined) steps.delete(eventId)
  return new Set(steps.values())
}

/** The last attempt of each step that is a task and has not ended. */
function openTasks(recorded: readonly Recorded[]): ReadonlyMap<string, Pick<OpenStep, "position" | "attempt">> {
  const first = new Map<string, number>()
  const open = new Map<string, { position: number; attempt: number }>()
  for (const { entry, position } of recorded) {
    if (entry.type === "step.started") {
      if (!first.has(entry.id)) first.set(entry.id, position)
      if (entry.queue === undefined) open.delete(entry.id)
      else open.set(entry.id, { position: first.get(entry.id) ?? position, attempt: entry.attempt })
    } else if (entry.type === "step.completed" || entry.type === "step.failed") {
      open.delete(entry.id)
      if (entry.type === "step.completed" || entry.retryAt === undefined) first.delete(entry.id)
    }
  }
  return open
}
