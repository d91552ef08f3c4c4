import type { RowState, NewInstance, Turn } from "../../../ports/journal-store.ts"
import { textOrNull, toText } from "../../shared/unsafe-text.ts"
import { numberArray } from "./array-literal.ts"
import { toEvents, toQueue } from "../reads/instance-row.ts"
import type { ListenConnectionCalls } from "../notifications/listen-connection-calls.ts"

/** Writes a turn that goes alone, if it is of a kind that is written more cheaply so. False: it was not, and is to go as a batch. */
export async function writeSingleTurn(calls: ListenConnectionCalls, turn: Turn): Promise<boolean> {
  const call = callOf(turn)
  if (call === undefined) return false
  return (await calls.call(`${call.does}.write`, `${call.does}_lone`, call.values)) === "true"
}

type Value = string | number | boolean | null

interface Call {
  readonly does: "append" | "change" | "create" | "create_declared" | "take"
  readonly values: readonly Value[]
}

function callOf(turn: Turn): Call | undefined {
  const { create, within, state, tags, memo, consumed, inboxSeen, sends, discardInbox, ifQueued, blobs } = turn
  if (blobs?.length || tags !== undefined || memo !== undefined || sends?.length || ifQueued === true) return undefined
  if (create !== undefined) {
    if (state === undefined || within !== undefined || create.flow !== undefined || create.tags.length > 0) return undefined
    const values = [...turnValues(turn), ...stateValues(state), ...creationValues(create)]
    return create.events === undefined ? { does: "create", values } : { does: "create_declared", values: [...values, toEvents(create.events)] }
  }
  if (consumed?.length) {
    if (state === undefined) return undefined
    return { does: "take", values: [...laterTurnValues(turn), ...stateValues(state), numberArray(consumed), inboxSeen ?? null, discardInbox === true] }
  }
  if (state !== undefined) return { does: "change", values: [...laterTurnValues(turn), ...stateValues(state)] }
  // These look at the inbox.
  if (inboxSeen !== undefined || discardInbox === true) return undefined
  return { does: "append", values: laterTurnValues(turn) }
}

function turnValues({ instance, incarnation, turn, position, count, run, at, entries }: Turn): readonly Value[] {
  return [toText(instance), toText(incarnation), toText(turn), position, count, run, at, toText(entries)]
}

function laterTurnValues(turn: Turn): readonly Value[] {
  return [...turnValues(turn), textOrNull(turn.follows)]
}

function stateValues({ status, phase, dueAt, owner, run, runPosition, endPosition }: RowState): readonly Value[] {
  return [status, phase ?? null, dueAt ?? null, textOrNull(owner), run, runPosition, endPosition ?? null]
}

function creationValues({ workflow, version, createdAt, queue }: NewInstance): readonly Value[] {
  return [toText(workflow), toText(version), createdAt, queue === undefined ? "" : toQueue(queue)]
}
