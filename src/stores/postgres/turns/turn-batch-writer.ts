import type { NewMessage, Turn, TurnOutcome } from "../../../ports/journal-store.ts"
import { textOrNull, toText } from "../../shared/unsafe-text.ts"
import { joinedTexts, numberArray, separatorOf, textArray } from "./array-literal.ts"
import { list } from "../reads/columns.ts"
import type { DatabaseNames, Queries } from "../connection/database.ts"
import { creationColumns, stateColumns } from "../reads/instance-row.ts"

/** `written` now; `recorded` before, it was sent again; `flow`: it must be written under the locks of flow control. */
export type Written = "written" | "recorded" | "lost" | "flow"

export function outcomeOf(written: Written): TurnOutcome {
  return written === "written" || written === "recorded" ? "committed" : "lost"
}

/**
 * Writes turns of different instances in one round trip. `fresh`: it fails where somebody else writes one of their positions meanwhile, see `isTaken`;
 * that is for transactions of their own.
 */
export async function writeTurns(
  queries: Queries,
  database: DatabaseNames,
  turns: readonly Turn[],
  way: "fresh" | "plain" | "with flow",
): Promise<readonly Written[]> {
  const batch = new BatchColumns()
  turns.forEach((turn) => batch.add(turn))
  const entries = turns.map((turn) => toText(turn.entries))
  const separator = separatorOf(entries, batch.extras)
  const row = await queries.get(
    way === "fresh" ? "fresh.write" : "write",
    `SELECT ${way === "fresh" ? database.functions.writeFreshTurns : database.functions.writeTurns}(
      $1, $2, $3, $4, $5, $6, $7, $8, (string_to_array($9, $17))[2:], $10, $11, $12, (string_to_array($13, $17, ''))[2:]::json[], $14, $15, $16
    ) AS outcomes`,
    textArray(turns.map(({ instance }) => toText(instance))),
    textArray(turns.map(({ incarnation }) => toText(incarnation))),
    textArray(turns.map(({ turn }) => toText(turn))),
    textArray(turns.map(({ follows }) => textOrNull(follows))),
    numberArray(turns.map(({ position }) => position)),
    numberArray(turns.map(({ count }) => count)),
    numberArray(turns.map(({ run }) => run)),
    numberArray(turns.map(({ at }) => at)),
    joinedTexts(entries, separator),
    textArray(turns.map(({ by }) => textOrNull(by))),
    ...batch.columns(separator),
    way === "with flow",
    separator,
  )
  return row?.["outcomes"] === null ? turns.map(() => "written") : list<Written>(row, "outcomes")
}

/** Null: it only appends. `c`, `s` and `x`: as in batch-functions.ts. */
type Kind = "c" | "s" | "x" | null

function kindOf(turn: Turn): Kind {
  if (turn.blobs?.length || turn.ifQueued === true) return "x"
  if (turn.create !== undefined) return turn.create.flow?.unique?.length ? "x" : "c"
  if (turn.tags !== undefined || turn.memo !== undefined) return "x"
  const isChange = turn.state !== undefined || turn.consumed?.length || turn.inboxSeen !== undefined || turn.discardInbox === true || turn.sends?.length
  return isChange ? "s" : null
}

/** What turns have beyond their journal rows. */
class BatchColumns {
  readonly #kinds: Kind[] = []
  readonly #seen: (number | null)[] = []
  readonly extras: (string | null)[] = []
  readonly #marks = new Set<string>()
  /** What is read to decide, or changed, is locked before all else, and in one order with that of the other turns. */
  readonly #locks = new Set<string>()
  #hasSeen = false

  add(turn: Turn): void {
    const kind = kindOf(turn)
    this.#kinds.push(kind)
    this.#seen.push(turn.inboxSeen ?? null)
    if (kind === null) return void this.extras.push(null)
    this.extras.push(JSON.stringify(extraOf(turn)))
    this.#marks.add(kind)
    if (kind === "c" && (turn.tags ?? turn.create?.tags)?.length) this.#marks.add("t")
    if (turn.inboxSeen !== undefined) this.#hasSeen = true
    if (turn.consumed?.length || turn.discardInbox === true) this.#marks.add("i")
    if (turn.sends?.length) this.#marks.add("m")
    if (turn.create === undefined) this.#locks.add(toText(turn.instance))
    if (turn.within !== undefined) this.#locks.add(toText(turn.within.instance))
    for (const { instance } of turn.sends ?? []) this.#locks.add(toText(instance))
  }

  columns(separator: string): readonly string[] {
    if (this.#marks.size === 0) return ["{}", "{}", "", "", "{}"]
    return [
      textArray(this.#kinds),
      this.#hasSeen ? numberArray(this.#seen) : "{}",
      joinedTexts(this.extras, separator),
      [...this.#marks].join(""),
      textArray([...this.#locks]),
    ]
  }
}

function extraOf({ create, within, state, tags, memo, consumed, inboxSeen, sends, discardInbox, ifQueued, blobs }: Turn) {
  if (create !== undefined && state === undefined) throw new Error("a turn that creates an instance says its state")
  return {
    ...(create === undefined ? undefined : creationColumns(tags === undefined ? create : { ...create, tags })),
    ...(within === undefined ? undefined : { within: { instance: toText(within.instance), incarnation: toText(within.incarnation), run: within.run } }),
    ...(state === undefined ? undefined : stateColumns(state)),
    ...(tags === undefined || create ? undefined : { tags: tags.map(toText) }),
    ...(memo === undefined ? undefined : { memo: toText(memo) }),
    ...(consumed?.length ? { consumed } : undefined),
    ...(inboxSeen === undefined ? undefined : { inboxSeen }),
    ...(sends?.length ? { sends: sends.map(messageJson) } : undefined),
    ...(discardInbox === true ? { discardInbox } : undefined),
    ...(ifQueued === true ? { ifQueued } : undefined),
    ...(blobs?.length ? { blobs: blobs.map(toText) } : undefined),
  }
}

export function messageJson({ instance, incarnation, kind, at, topic, payload, eventId, isChecked }: NewMessage) {
  return {
    instance: toText(instance),
    ...(incarnation === undefined ? {} : { incarnation: toText(incarnation) }),
    kind,
    at,
    ...(topic === undefined ? {} : { topic: toText(topic) }),
    ...(payload === undefined ? {} : { payload: toText(payload) }),
    ...(eventId === undefined ? {} : { eventId: toText(eventId) }),
    ...(isChecked ? { isChecked } : {}),
  }
}

/**
 * Cuts a batch into rounds that can be written one after another as a whole, so that what comes of them is what would come of turn after
 * turn: one turn of each instance, and what depends on another turn of the batch in a later round. Nearly always it is one round.
 */
export function inRounds(turns: readonly Turn[]): readonly (readonly number[])[] {
  if (isOneRound(turns)) return [turns.map((_, at) => at)]
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

/** What nearly all batches are: different instances, that have nothing to do with each other. */
function isOneRound(turns: readonly Turn[]): boolean {
  const instances = new Set(turns.map(({ instance }) => instance))
  return instances.size === turns.length && turns.every(({ within, sends }) => within === undefined && !sends?.length)
}
