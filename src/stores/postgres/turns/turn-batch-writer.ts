import type { NewMessage, Turn, TurnOutcome } from "../../../ports/journal-store.ts"
import type { NewTask } from "../../../ports/task-store.ts"
import { textOrNull, toText } from "../../shared/unsafe-text.ts"
import { joinedTexts, numberArray, separatorOf, textArray } from "./array-literal.ts"
import { list } from "../reads/columns.ts"
import type { DatabaseNames, Queries } from "../connection/database.ts"
import { creationColumns, stateColumns } from "../reads/instance-row.ts"

/** `recorded`: the turn was written before, and was sent again. `flow`: the turn must be written under the locks of flow control. */
export type Written = "written" | "recorded" | "lost" | "flow"

export function outcomeOf(written: Written): TurnOutcome {
  return written === "written" || written === "recorded" ? "committed" : "lost"
}

/**
 * Writes turns of different instances in one round trip. `fresh`: the call fails if another transaction writes one of the positions meanwhile (`isTaken`), so it
 * must not be part of a transaction.
 */
export async function writeTurns(
  queries: Queries,
  database: DatabaseNames,
  turns: readonly Turn[],
  mode: "fresh" | "plain" | "with flow",
): Promise<readonly Written[]> {
  const batch = new BatchColumns()
  turns.forEach((turn) => batch.add(turn))
  const entries = turns.map((turn) => toText(turn.entries))
  const separator = separatorOf(entries, batch.extras)
  const row = await queries.get(
    mode === "fresh" ? "fresh.write" : "write",
    `SELECT ${mode === "fresh" ? database.functions.writeFreshTurns : database.functions.writeTurns}(
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
    mode === "with flow",
    separator,
  )
  return row?.["outcomes"] === null ? turns.map(() => "written") : list<Written>(row, "outcomes")
}

/** Null: the turn only appends. `c`, `s` and `x`: as in batch-functions.ts. */
type Kind = "c" | "s" | "x" | null

function kindOf(turn: Turn): Kind {
  if (turn.blobs?.length || turn.ifQueued === true) return "x"
  if (turn.create !== undefined) return turn.create.flow?.unique?.length ? "x" : "c"
  if (turn.tags !== undefined || turn.memo !== undefined) return "x"
  const isChange = turn.state !== undefined || turn.consumed?.length || turn.inboxSeen !== undefined || turn.discardInbox === true || turn.sends?.length
  const hasTasks = turn.tasks?.length || turn.endsTasks?.length
  return isChange || hasTasks ? "s" : null
}

/** The columns of what turns have beyond their journal rows. */
class BatchColumns {
  readonly #kinds: Kind[] = []
  readonly #seen: (number | null)[] = []
  readonly extras: (string | null)[] = []
  readonly #marks = new Set<string>()
  /** Instances whose rows decide about a turn, or change. They are locked first, in one order. */
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
    if (turn.tasks?.length || turn.endsTasks?.length) this.#marks.add("k")
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

function extraOf({ create, within, state, tags, memo, consumed, inboxSeen, sends, tasks, endsTasks, discardInbox, ifQueued, blobs }: Turn) {
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
    ...(tasks?.length ? { tasks: tasks.map(taskJson) } : undefined),
    ...(endsTasks === "all" ? { endsAllTasks: true } : endsTasks?.length ? { endsTasks: endsTasks.map(toText) } : undefined),
    ...(discardInbox === true ? { discardInbox } : undefined),
    ...(ifQueued === true ? { ifQueued } : undefined),
    ...(blobs?.length ? { blobs: blobs.map(toText) } : undefined),
  }
}

/** JSON omits properties that are undefined. The details of heartbeats are stored as JSON text. */
function taskJson({ id, step, activity, queue, input, details, ...task }: NewTask) {
  const named = { id: toText(id), step: toText(step), activity: toText(activity), queue: toText(queue), input: toText(input) }
  return { ...task, ...named, details: details === undefined ? undefined : JSON.stringify(details) }
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
