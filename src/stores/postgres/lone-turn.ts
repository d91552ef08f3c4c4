import type { InstanceState, NewInstance, Turn } from "../../ports/journal-store.ts"
import { textOrNull, toText } from "../odd-text.ts"
import { numberArray } from "./array-literal.ts"
import { list } from "./columns.ts"
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

/** So many are still written more cheaply one by one, as parts of one statement, than as a batch; */
const fewMax = 4
/** or so many, if all of them only append. */
const fewAppendsMax = 8

/**
 * Writes a few turns of different instances in one statement, if all are of the kinds that most are. Undefined: they are to go as a batch. Otherwise,
 * for each, whether it is written; of one that is not, a batch says what it comes to.
 */
export async function writeFew(queries: Queries, schema: string, turns: readonly Turn[]): Promise<readonly boolean[] | undefined> {
  if (turns.length > fewAppendsMax) return undefined
  const calls = turns.map(callOf)
  const appends = calls.filter((call) => call?.does === "append")
  const changes = calls.filter((call) => call?.does === "change")
  if (appends.length + changes.length < turns.length || turns.length > (changes.length === 0 ? fewAppendsMax : fewMax)) return undefined
  // Those that lock their rows do so in one order, as all who lock several.
  const ordered = [...appends, ...changes.toSorted(byId)] as readonly Call[]
  let last = 0
  const parts = ordered.map(({ does, values }) => `${schema}.${does}_lone(${values.map(() => `$${++last}`).join(", ")})`)
  const name = `few-${appends.length}-${changes.length}.write`
  const row = await queries.get(name, `SELECT ARRAY[${parts.join(", ")}] AS done`, ...ordered.flatMap(({ values }) => values))
  const done = list<boolean>(row, "done")
  return calls.map((call) => done[ordered.indexOf(call as Call)] === true)
}

function byId(one: Call | undefined, other: Call | undefined): number {
  return Buffer.compare(Buffer.from(String(one?.values[0])), Buffer.from(String(other?.values[0])))
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
