import type { InstanceState, NewInstance, Turn } from "../../ports/journal-store.ts"
import { textOrNull, toText } from "../odd-text.ts"
import { numberArray } from "./array-literal.ts"
import type { Queries } from "./database.ts"
import { toQueue } from "./instance-row.ts"

/** Writes a turn that goes alone, if it is of a kind that is written more cheaply so. False: it was not, and is to go as a batch. */
export async function writeLone(queries: Queries, schema: string, turn: Turn): Promise<boolean> {
  const call = callOf(turn)
  if (call === undefined) return false
  const { does, values } = call
  const row = await queries.get(`${does}.write`, `SELECT ${schema}.${does}_lone(${values.map((_, at) => `$${at + 1}`).join(", ")}) AS done`, ...values)
  return row?.["done"] === true
}

interface Call {
  readonly does: "append" | "change" | "create" | "take"
  readonly values: readonly unknown[]
}

function callOf(turn: Turn): Call | undefined {
  const { create, within, state, tags, memo, consumed, inboxSeen, sends, discardInbox, ifQueued, blobs } = turn
  if (blobs?.length || tags !== undefined || memo !== undefined || sends?.length || ifQueued === true) return undefined
  if (create !== undefined) {
    if (state === undefined || within !== undefined || create.flow !== undefined || create.tags.length > 0) return undefined
    return { does: "create", values: [...turnValues(turn), ...stateValues(state), ...creationValues(create)] }
  }
  if (consumed?.length) {
    if (state === undefined) return undefined
    return { does: "take", values: [...turnValues(turn), ...stateValues(state), numberArray(consumed), inboxSeen ?? null, discardInbox === true] }
  }
  if (state !== undefined) return { does: "change", values: [...turnValues(turn), ...stateValues(state)] }
  // These look at the inbox.
  if (inboxSeen !== undefined || discardInbox === true) return undefined
  return { does: "append", values: turnValues(turn) }
}

function turnValues({ instance, incarnation, turn, position, count, run, at, entries }: Turn): readonly unknown[] {
  return [toText(instance), toText(incarnation), toText(turn), position, count, run, at, toText(entries)]
}

function stateValues({ status, phase, dueAt, owner, run, runPosition, endPosition }: InstanceState): readonly unknown[] {
  return [status, phase ?? null, dueAt ?? null, textOrNull(owner), run, runPosition, endPosition ?? null]
}

function creationValues({ workflow, version, createdAt, queue }: NewInstance): readonly unknown[] {
  return [toText(workflow), toText(version), createdAt, queue === undefined ? "" : toQueue(queue)]
}
