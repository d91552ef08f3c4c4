import { type Change, changeOf, type NamedChange } from "../../core/journal/change.ts"
import { PerdureError } from "../../core/errors.ts"
import { defaultQueue } from "../../core/workflow/task-queue.ts"
import { decodeRow } from "../../core/journal/turn-codec.ts"
import type { ChangePage, ChangeRow } from "../../ports/change-stream.ts"
import type { Directory } from "../../ports/directory.ts"

/** The changes in a page of journal rows. A batch is made once for all of its readers, and does not keep the values of the entries. */
export interface ChangeBatch {
  /** True if the page had no rows. */
  readonly isEmpty: boolean
  readonly changes: readonly Change[]
  readonly instances: ReadonlySet<string>
  /** The cursor of the store after this page. */
  readonly cursor: string
}

/** The place of a reader: after a cursor of the store, and after a position within the row that follows the cursor. */
export interface ChangePlace {
  readonly after: string | undefined
  readonly passed?: { readonly incarnation: string; readonly position: number }
}

const cursorForm = /^([^~]*)(?:~(.+)~(\d{1,16}))?$/

/** The text of a place is a cursor of the store. A place within a row is `<cursor of the store before the row>~<incarnation>~<position>`. */
function placeOf(cursor: string): ChangePlace | undefined {
  const [whole, after = "", incarnation, position] = cursorForm.exec(cursor) ?? []
  if (whole === undefined) return undefined
  if (incarnation === undefined) return { after }
  return { after: after === "" ? undefined : after, passed: { incarnation, position: Number(position) } }
}

/** How many journal rows a page has at most. */
export const pageRowsMax = 100

/** Reads one page of the changes of an instance. A client that polls calls it again with the cursor of the page. */
export async function readChanges(directory: Directory, instance: string, cursor: string | undefined): Promise<Pick<ChangeBatch, "changes" | "cursor">> {
  const place: ChangePlace = cursor === undefined ? { after: undefined } : cursor === "latest" ? { after: await directory.latestChange() } : knownPlace(cursor)
  const batch = new ChangeDecoder().decode(place.after, await directory.changes(place.after, pageRowsMax, instance))
  return { changes: afterPlace(batch.changes, place), cursor: batch.cursor }
}

/** Leaves out the changes of the row that are before the place of the reader. */
export function afterPlace(changes: readonly Change[], { passed }: ChangePlace): readonly Change[] {
  return passed ? changes.filter(({ id, position }) => position > passed.position || id !== `${passed.incarnation}:${position}`) : changes
}

export function knownPlace(cursor: string): ChangePlace {
  const place = typeof cursor === "string" ? placeOf(cursor) : undefined
  if (place) return place
  throw new PerdureError("BAD_OPTION", "the cursor is not the cursor of a change; omit it to begin with the first change", { details: { option: "cursor" } })
}

const startsMax = 10_000

/** Turns journal rows into changes. It remembers when recent attempts began, so that a change can say how long its attempt took. */
export class ChangeDecoder {
  #starts = new Map<string, { readonly at: number; readonly attempt: number }>()

  decode(after: string | undefined, { rows, cursor }: ChangePage): ChangeBatch {
    const changes: Change[] = []
    let before = after
    for (const row of rows) {
      this.#add(changes, row, before)
      before = row.cursor
    }
    return { isEmpty: rows.length === 0, changes, instances: new Set(rows.map(({ instance }) => instance)), cursor }
  }

  forget(): void {
    this.#starts.clear()
  }

  #add(changes: Change[], row: ChangeRow, before: string | undefined): void {
    const { instance, incarnation, workflow, version, queue = defaultQueue } = row
    const recorded = decodeRow(row)
    const named = recorded.flatMap((item, at) => {
      const change = changeOf(instance, item, recorded[at - 1]?.entry)
      return change ? [{ change, item }] : []
    })
    for (const [index, { change, item }] of named.entries()) {
      const { position, run, at } = item
      const isLast = index === named.length - 1
      changes.push({
        id: `${incarnation}:${position}`,
        cursor: isLast ? row.cursor : `${before ?? ""}~${incarnation}~${position}`,
        type: change.type,
        at,
        instance,
        workflow,
        version,
        taskQueue: queue,
        run,
        position,
        data: this.#timed(`${incarnation} ${run}`, change, at),
      })
    }
  }

  #timed(ofRun: string, { type, data }: NamedChange, at: number): Change["data"] {
    const { step, attempt } = data
    if (step === undefined) return data
    const key = `${ofRun} ${step}`
    if (type === "step.started") {
      // A reader that is further back must not replace the start of a later attempt.
      if ((this.#starts.get(key)?.attempt ?? 0) > (attempt ?? 1)) return data
      if (this.#starts.size >= startsMax) this.#starts.delete(this.#starts.keys().next().value ?? "")
      this.#starts.delete(key)
      this.#starts.set(key, { at, attempt: attempt ?? 1 })
      return data
    }
    if (type !== "step.completed" && type !== "step.failed" && type !== "retry.scheduled" && type !== "retry.exhausted") return data
    const start = this.#starts.get(key)
    if (start === undefined || (attempt !== undefined && attempt !== start.attempt)) return data
    return { ...data, attempt: start.attempt, durationMs: Math.max(0, at - start.at) }
  }
}
