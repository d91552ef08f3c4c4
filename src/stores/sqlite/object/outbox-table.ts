import type { ObjectMessage } from "../../../ports/cloudflare/task-order.ts"
import type { OutgoingMessage } from "../../../ports/cloudflare/object-tables.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../../ports/sql-driver.ts"
import { fromText, textOrNull, toText } from "../../shared/unsafe-text.ts"
import { bytes, integer, optionalInteger, optionalText, text } from "../driver/sql-columns.ts"
import { fromChunks, inlineTextMax, toChunks } from "../driver/text-chunks.ts"

const batchLengthMax = 4 * 1024 * 1024

/** Messages to other objects that these objects have not acknowledged yet. Callers that write are in a transaction. */
export class OutboxTable {
  static readonly definitions: Readonly<Record<string, readonly string[]>> = {
    perdure_outbox: [
      `CREATE TABLE perdure_outbox (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        target TEXT NOT NULL,
        incarnation TEXT,
        kind TEXT NOT NULL,
        at INTEGER NOT NULL,
        topic TEXT,
        event_id TEXT,
        payload TEXT,
        chunks INTEGER
      ) STRICT`,
    ],
    perdure_outbox_chunk: [
      `CREATE TABLE perdure_outbox_chunk (
        message INTEGER NOT NULL,
        part INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (message, part)
      ) STRICT, WITHOUT ROWID`,
    ],
  }

  readonly #insert: SqlStatement
  readonly #insertChunk: SqlStatement
  readonly #read: SqlStatement
  readonly #readChunks: SqlStatement
  readonly #isCut: SqlStatement
  readonly #remove: SqlStatement
  readonly #removeChunks: SqlStatement

  constructor(driver: SqlDriver) {
    this.#insert = driver.prepare(
      `INSERT INTO perdure_outbox (target, incarnation, kind, at, topic, event_id, payload, chunks) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#insertChunk = driver.prepare(`INSERT INTO perdure_outbox_chunk (message, part, bytes) SELECT max(seq), ?, ? FROM perdure_outbox`)
    this.#read = driver.prepare(`SELECT seq, target, incarnation, kind, at, topic, event_id, payload, chunks FROM perdure_outbox
      WHERE target NOT IN (SELECT value FROM json_each(?)) ORDER BY seq LIMIT ?`)
    this.#readChunks = driver.prepare(`SELECT bytes FROM perdure_outbox_chunk WHERE message = ? ORDER BY part`)
    this.#isCut = driver.prepare(`SELECT 1 AS found FROM perdure_outbox WHERE seq = ? AND chunks IS NOT NULL`)
    this.#remove = driver.prepare(`DELETE FROM perdure_outbox WHERE seq = ?`)
    this.#removeChunks = driver.prepare(`DELETE FROM perdure_outbox_chunk WHERE message = ?`)
  }

  add({ instance, incarnation, kind, at, topic, eventId, payload }: ObjectMessage): void {
    const stored = payload === undefined ? null : toText(payload)
    const chunks = stored !== null && stored.length > inlineTextMax ? toChunks(stored) : undefined
    this.#insert.run(
      toText(instance),
      textOrNull(incarnation),
      kind,
      at,
      textOrNull(topic),
      textOrNull(eventId),
      chunks === undefined ? stored : null,
      chunks?.length ?? null,
    )
    for (const [part, chunk] of chunks?.entries() ?? []) this.#insertChunk.run(part, chunk)
  }

  /** The oldest messages, except to the given targets: at least one if there is one, and no more than fit into one call. */
  read(limit: number, except: readonly string[]): OutgoingMessage[] {
    const messages: OutgoingMessage[] = []
    let length = 0
    for (const row of this.#read.all(JSON.stringify(except.map(toText)), limit)) {
      const message = this.#message(row)
      messages.push({ seq: integer(row, "seq"), message })
      length += message.payload?.length ?? 0
      if (length > batchLengthMax) break
    }
    return messages
  }

  remove(seq: number): void {
    if (this.#isCut.get(seq) !== undefined) this.#removeChunks.run(seq)
    this.#remove.run(seq)
  }

  #message(row: SqlRow): ObjectMessage {
    const optional = <K extends string>(name: K, value: string | undefined) => (value === undefined ? undefined : { [name]: value })
    const isCut = optionalInteger(row, "chunks") !== undefined
    const payload = isCut ? fromText(fromChunks(this.#readChunks.all(integer(row, "seq")).map((part) => bytes(part, "bytes")))) : optionalText(row, "payload")
    return {
      instance: text(row, "target"),
      kind: text(row, "kind"),
      at: integer(row, "at"),
      ...optional("incarnation", optionalText(row, "incarnation")),
      ...optional("topic", optionalText(row, "topic")),
      ...optional("eventId", optionalText(row, "event_id")),
      ...optional("payload", payload),
    } as ObjectMessage
  }
}
