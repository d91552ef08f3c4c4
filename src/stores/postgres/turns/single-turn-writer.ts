import type { RowState, NewInstance, Turn } from "../../../ports/journal-store.ts"
import { textOrNull, toText } from "../../shared/unsafe-text.ts"
import { numberArray } from "./array-literal.ts"
import { toEvents, toQueue } from "../reads/instance-row.ts"
import type { ListenConnectionCalls } from "../notifications/listen-connection-calls.ts"

/** Writes one turn by the function for its kind. False: nothing was written, because there is no such function or because the function refused the turn. */
export async function writeSingleTurn(calls: ListenConnectionCalls, turn: Turn): Promise<boolean> {
  const call = callOf(turn)
  if (call === undefined) return false
  return (await calls.call(`${call.kind}.write`, `${call.kind}SingleTurn`, call.values)) === "true"
}

type Value = string | number | boolean | null

interface Call {
  readonly kind: "append" | "change" | "create" | "consume"
  readonly values: readonly Value[]
}

function callOf(turn: Turn): Call | undefined {
  const { create, within, state, tags, memo, consumed, inboxSeen, sends, tasks, endsTasks, discardInbox, ifQueued, blobs } = turn
  if ((tasks ?? endsTasks) !== undefined || blobs?.length || tags !== undefined || memo !== undefined || sends?.length || ifQueued === true) return undefined
  if (create !== undefined) {
    if (state === undefined || within !== undefined || create.flow !== undefined || create.tags.length > 0) return undefined
    return { kind: "create", values: [...turnValues(turn), ...stateValues(state), ...creationValues(create)] }
  }
  if (consumed?.length) {
    if (state === undefined) return undefined
    return { kind: "consume", values: [...laterTurnValues(turn), ...stateValues(state), numberArray(consumed), inboxSeen ?? null, discardInbox === true] }
  }
  if (state !== undefined) return { kind: "change", values: [...laterTurnValues(turn), ...stateValues(state)] }
  // These turns need a look at the inbox.
  if (inboxSeen !== undefined || discardInbox === true) return undefined
  return { kind: "append", values: laterTurnValues(turn) }
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

function creationValues({ workflow, version, createdAt, queue, events }: NewInstance): readonly Value[] {
  return [toText(workflow), toText(version), createdAt, queue === undefined ? "" : toQueue(queue), events === undefined ? null : toEvents(events)]
}
