import type { Argument } from "../../core/arguments/argument.ts"
import { messageOf } from "../../core/values/error-text.ts"
import { PerdureError } from "../../core/errors.ts"
import { entryTypes, type Recorded } from "../../core/journal/journal.ts"
import { shown } from "../../core/workflow/input-limits.ts"
import { decodeRow } from "../../core/journal/turn-codec.ts"
import type { RowState, JournalRow, Message, NewInstance, NewMessage } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import { notFound } from "../instances/instance-errors.ts"
import { instanceShape, memoShape, messageShape, rowShape, stateShape } from "./export-shape.ts"

/**
 * An exported instance. Its file has these lines of JSON, in this order:
 *
 *   {"type":"instance","format":1,"exportedAt":…,"instance":{…},"state":{…},"memo":…}
 *   {"type":"turn","turn":…,"position":…,"count":…,"run":…,"at":…,"entries":[…],"blobs":[…]}     one for each row of its journal, all runs
 *   {"type":"message","kind":…,"at":…,"topic":…,"payload":…,"eventId":…}                         one for each unread message
 *   {"type":"end","turns":n,"messages":n}
 *
 * A file may have many instances, one after the other. `entries` is the text of the row. It is written as a JSON value if that value gives the same text
 * again, else as a string. docs/export-format.md describes the whole format.
 */
export interface InstanceExport {
  readonly instance: NewInstance
  readonly state: RowState
  readonly memo?: string
  readonly rows: readonly JournalRow[]
  readonly messages: readonly Omit<NewMessage, "instance" | "incarnation">[]
}

const exportFormat = 1

const readTriesMax = 100

/** Reads an instance at one moment. It is read again if its journal has grown during the read. */
export async function exportInstance({ directory, journal }: Store, id: string): Promise<InstanceExport> {
  for (let tries = 0; tries < readTriesMax; tries++) {
    const rows = await journal.readJournal(id, 1)
    const messages = await journal.readInbox([id])
    const row = await directory.get(id)
    if (row === undefined) throw notFound(id)
    const end = endOf(rows)
    if (rows.length === 0 || (await journal.readJournal(id, end + 1)).length > 0 || (await directory.get(id))?.incarnation !== row.incarnation) continue
    const { incarnation, workflow, version, createdAt, tags, queue, flow, events, memo, status, phase, dueAt, deadlineAt, run, runPosition, endPosition } = row
    const instance = { id, incarnation, workflow, version, createdAt, tags, ...given({ queue, flow, events }) } as NewInstance
    const state = { status, run, runPosition, ...given({ phase, dueAt, deadlineAt, endPosition }) } as RowState
    return { instance, state, rows, messages: messages.map(withoutPlace), ...(memo === undefined ? undefined : { memo }) }
  }
  throw new PerdureError(
    "STORE_FAILED",
    `instance "${id}" changes too fast to be exported: ${readTriesMax} attempts to read it as a whole failed; pause it first`,
  )
}

function endOf(rows: readonly JournalRow[]): number {
  const last = rows.at(-1)
  return last === undefined ? 0 : last.position + last.count - 1
}

function withoutPlace({ seq: _, instance: __, ...message }: Message): Omit<NewMessage, "instance" | "incarnation"> {
  return message
}

/** Only the fields that have a value. */
function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

export function* exportLines({ instance, state, memo, rows, messages }: InstanceExport, exportedAt: number): Generator<string> {
  yield JSON.stringify({ type: "instance", format: exportFormat, exportedAt, instance, state, ...(memo === undefined ? undefined : { memo }) })
  for (const { turn, position, count, run, at, entries, blobs } of rows) {
    yield JSON.stringify({
      type: "turn",
      turn,
      position,
      count,
      run,
      at,
      entries: entriesValue(entries),
      ...(blobs && blobs.length > 0 ? { blobs } : undefined),
    })
  }
  for (const message of messages) yield JSON.stringify({ type: "message", ...message })
  yield JSON.stringify({ type: "end", turns: rows.length, messages: messages.length })
}

function entriesValue(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return JSON.stringify(value) === text ? value : text
}

/** Reads instances from lines. Throws `BAD_EXPORT` if a line is not valid at its place. */
export async function* parseExports(lines: AsyncIterable<string> | Iterable<string>): AsyncGenerator<InstanceExport> {
  let open: { head: Head; rows: JournalRow[]; messages: InstanceExport["messages"][number][] } | undefined
  let number = 0
  for await (const text of lines) {
    number++
    if (text.trim() === "") continue
    const line = parseLine(text, number)
    if (line.type === "instance") {
      if (open) throw badExport(`line ${number} begins an instance, but "${open.head.instance.id}" has no end; the file was cut off`)
      open = { head: checkedHead(line, number), rows: [], messages: [] }
    } else if (!open) throw badExport(`line ${number} belongs to no instance; a file begins with {"type":"instance",…`)
    else if (line.type === "turn") open.rows.push(checkedRow(line, open.rows, number))
    else if (line.type === "message") open.messages.push(checkedMessage(line, number))
    else if (line.type === "end") {
      const { head, rows, messages } = open
      if (line["turns"] !== rows.length || line["messages"] !== messages.length)
        throw badExport(
          `instance "${head.instance.id}" should have ${String(line["turns"])} turns and ${String(line["messages"])} messages, but has ${rows.length} and ${messages.length}`,
        )
      yield { ...head, rows, messages }
      open = undefined
    } else throw badExport(`line ${number} is of an unknown type, ${JSON.stringify(line.type)}; was it written by a newer version?`)
  }
  if (open) throw badExport(`instance "${open.head.instance.id}" has no end; the file was cut off`)
}

type Line = Readonly<Record<string, unknown>> & { readonly type: unknown }
type Head = Pick<InstanceExport, "instance" | "state" | "memo">

function parseLine(text: string, number: number): Line {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === "object" && value !== null && "type" in value) return value
  } catch {
    // The error is thrown below.
  }
  throw badExport(`line ${number} is no line of an export; give a file that was written by one`)
}

function checkedHead(line: Line, number: number): Head {
  const { format } = line
  if (typeof format !== "number" || !(format >= 1) || format > exportFormat)
    throw badExport(`line ${number} has format ${shown(format)}, and this version knows ${exportFormat}; upgrade perdure`)
  const memo = shaped(memoShape, line["memo"], "memo", number) as string | undefined
  return {
    instance: shaped(instanceShape, line["instance"] ?? null, "instance", number) as NewInstance,
    state: shaped(stateShape, line["state"] ?? null, "state", number) as RowState,
    ...(memo === undefined ? undefined : { memo }),
  }
}

/** Checks a part of a line. Throws `BAD_EXPORT`. */
function shaped(shape: Argument, value: unknown, name: string, number: number): unknown {
  try {
    return shape(value, name)
  } catch (error) {
    throw badExport(`line ${number}: ${messageOf(error)}`)
  }
}

function checkedRow(line: Line, before: readonly JournalRow[], number: number): JournalRow {
  const { turn, position, count, run, at, blobs } = shaped(rowShape, line, "turn", number) as JournalRow
  if (position !== endOf(before) + 1) throw badExport(`line ${number} has position ${position}, where ${endOf(before) + 1} should come`)
  const entries = typeof line["entries"] === "string" ? line["entries"] : (JSON.stringify(line["entries"]) as string | undefined)
  if (entries === undefined) throw badExport(`line ${number} has no entries`)
  const row: JournalRow = { turn, position, count, run, at, entries, ...(blobs ? { blobs } : undefined) }
  if (recordedIn(row).length !== count) throw badExport(`line ${number} should have ${count} entries, but has ${recordedIn(row).length}`)
  return row
}

/** The entries of a row of a file. Throws `BAD_EXPORT` if they cannot be read. */
export function recordedIn(row: JournalRow): readonly Recorded[] {
  try {
    const recorded = decodeRow(row)
    if (recorded.every(({ entry }) => entryTypes.includes(entry.type))) return recorded
    throw new TypeError("it has an entry of an unknown type; was it written by a newer version?")
  } catch (error) {
    throw badExport(`the turn at position ${row.position} cannot be read: ${messageOf(error)}`)
  }
}

function checkedMessage({ type: _, ...message }: Line, number: number): InstanceExport["messages"][number] {
  return shaped(messageShape, message, "message", number) as InstanceExport["messages"][number]
}

export function badExport(message: string): PerdureError {
  return new PerdureError("BAD_EXPORT", message)
}
