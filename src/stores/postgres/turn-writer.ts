import type { NewMessage, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import { textOrNull, toText } from "../odd-text.ts"
import { list } from "./columns.ts"
import type { Queries } from "./database.ts"
import { creationColumns, stateColumns } from "./instance-row.ts"

/** `written` now; `recorded` before, it was sent again; `flow`: it must be written under the locks of flow control. */
export type Written = "written" | "recorded" | "lost" | "flow"

export function outcomeOf(written: Written): TurnOutcome {
  return written === "written" || written === "recorded" ? "committed" : "lost"
}

/** Writes turns of different instances in one round trip. */
export async function writeTurns(queries: Queries, schema: string, turns: readonly Turn[], withFlow: boolean): Promise<readonly Written[]> {
  const locks = new Set<string>()
  for (const turn of turns) addLocks(turn, locks)
  const row = await queries.get(
    "write",
    `SELECT ${schema}.write_turns($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) AS outcomes`,
    turns.map(({ instance }) => toText(instance)),
    turns.map(({ incarnation }) => toText(incarnation)),
    turns.map(({ turn }) => toText(turn)),
    turns.map(({ position }) => position),
    turns.map(({ count }) => count),
    turns.map(({ run }) => run),
    turns.map(({ at }) => at),
    turns.map(({ entries }) => toText(entries)),
    turns.map(({ by }) => textOrNull(by)),
    turns.map((turn) => (isPlain(turn) ? null : JSON.stringify(extraOf(turn)))),
    [...locks],
    withFlow,
  )
  return list<Written>(row, "outcomes")
}

/** It only appends. */
function isPlain(turn: Turn): boolean {
  return (
    turn.create === undefined &&
    turn.state === undefined &&
    !turn.consumed?.length &&
    turn.inboxSeen === undefined &&
    !turn.sends?.length &&
    turn.discardInbox !== true &&
    turn.ifQueued !== true &&
    turn.tags === undefined &&
    turn.memo === undefined &&
    !turn.blobs?.length
  )
}

/** What is read to decide, or changed, is locked before all else, and in one order with that of the other turns. */
function addLocks(turn: Turn, locks: Set<string>): void {
  const isNoted = turn.tags !== undefined || turn.memo !== undefined
  const changesRow =
    turn.state !== undefined || isNoted || turn.consumed?.length || turn.inboxSeen !== undefined || turn.discardInbox === true || turn.ifQueued === true
  if (turn.create === undefined && changesRow) locks.add(toText(turn.instance))
  if (turn.within !== undefined) locks.add(toText(turn.within.instance))
  for (const { instance } of turn.sends ?? []) locks.add(toText(instance))
}

/** `create` comes first: by that the database knows those that need a key. */
function extraOf({ create, within, state, tags, memo, consumed, inboxSeen, sends, discardInbox, ifQueued, blobs }: Turn) {
  if (create !== undefined && state === undefined) throw new Error("a turn that creates an instance says its state")
  return {
    ...(create === undefined
      ? {}
      : { create: { ...creationColumns(tags === undefined ? create : { ...create, tags }), ...(memo === undefined ? {} : { memo: toText(memo) }) } }),
    ...(within === undefined ? {} : { within: { instance: toText(within.instance), incarnation: toText(within.incarnation), run: within.run } }),
    ...(state === undefined ? {} : { state: stateColumns(state) }),
    ...(tags === undefined || create ? {} : { tags: tags.map(toText) }),
    ...(memo === undefined || create ? {} : { memo: toText(memo) }),
    ...(consumed?.length ? { consumed } : {}),
    ...(inboxSeen === undefined ? {} : { inboxSeen }),
    ...(sends?.length ? { sends: sends.map(messageJson) } : {}),
    ...(discardInbox === true ? { discardInbox } : {}),
    ...(ifQueued === true ? { ifQueued } : {}),
    ...(blobs?.length ? { blobs: blobs.map(toText) } : {}),
  }
}

export function messageJson({ instance, incarnation, kind, at, topic, payload, eventId }: NewMessage) {
  return {
    instance: toText(instance),
    ...(incarnation === undefined ? {} : { incarnation: toText(incarnation) }),
    kind,
    at,
    ...(topic === undefined ? {} : { topic: toText(topic) }),
    ...(payload === undefined ? {} : { payload: toText(payload) }),
    ...(eventId === undefined ? {} : { eventId: toText(eventId) }),
  }
}

/**
 * Cuts a batch into rounds that can be written one after another as a whole, so that what comes of them is what would come of turn after
 * turn: one turn of each instance, and what depends on another turn of the batch in a later round. Nearly always it is one round.
 */
export function inRounds(turns: readonly Turn[]): readonly (readonly number[])[] {
  const rounds: number[][] = []
  /** The first round in which a turn of the instance may be. */
  const free = new Map<string, number>()
  const created = new Set<string>()
  const freeFrom = (id: string) => free.get(id) ?? 0
  turns.forEach(({ instance, within, sends = [], create }, at) => {
    const targets = sends.filter((message) => created.has(message.instance) && message.instance !== instance)
    const round = Math.max(freeFrom(instance), within ? freeFrom(within.instance) : 0, ...targets.map((message) => freeFrom(message.instance)))
    ;(rounds[round] ??= []).push(at)
    if (create) created.add(instance)
    const touched = [instance, ...(within ? [within.instance] : []), ...sends.map((message) => message.instance)]
    for (const id of touched) free.set(id, Math.max(freeFrom(id), round + 1))
  })
  return rounds
}
