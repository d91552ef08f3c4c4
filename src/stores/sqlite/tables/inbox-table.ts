import { isControl } from "../../../core/journal/control-message.ts"
import { takesEvent } from "../../../core/workflow/declared-events.ts"
import { isTerminal, type Status } from "../../../core/journal/status.ts"
import type { Delivery } from "../../../ports/directory.ts"
import type { Message, MessageKind, NewMessage } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { fromText, toText } from "../../shared/unsafe-text.ts"
import { fromEvents } from "./instance-row.ts"
import { bytes, integer, optionalInteger, optionalText, text } from "../driver/sql-columns.ts"
import { fromChunks, inlineTextMax, toChunks } from "../driver/text-chunks.ts"

/** Reads and writes unread messages, and keeps `mail_at` and `control_at` of the instance true. Callers that write are in a transaction. */
export class InboxTable {
  readonly #instance: SqlStatement
  readonly #unreadEvent: SqlStatement
  readonly #insert: SqlStatement
  readonly #insertChunk: SqlStatement
  readonly #setMailAt: SqlStatement
  readonly #setControlAt: SqlStatement
  readonly #updateMarks: SqlStatement
  readonly #newer: SqlStatement
  readonly #read: SqlStatement
  readonly #readChunks: SqlStatement
  readonly #consume: SqlStatement
  readonly #consumeChunks: SqlStatement
  readonly #discard: SqlStatement
  readonly #discardChunks: SqlStatement

  constructor(driver: SqlDriver) {
    this.#instance = driver.prepare(`SELECT key, status, incarnation, events FROM perdure_instance WHERE id = ?`)
    this.#unreadEvent = driver.prepare(`SELECT 1 AS found FROM perdure_inbox WHERE instance = ? AND event_id = ?`)
    this.#insert = driver.prepare(`INSERT INTO perdure_inbox (instance, kind, at, topic, event_id, payload, chunks) VALUES (?, ?, ?, ?, ?, ?, ?)`)
    this.#insertChunk = driver.prepare(`INSERT INTO perdure_inbox_chunk (message, part, bytes) SELECT max(seq), ?, ? FROM perdure_inbox WHERE instance = ?`)
    this.#setMailAt = driver.prepare(`UPDATE perdure_instance SET mail_at = ? WHERE key = ? AND mail_at IS NULL`)
    this.#setControlAt = driver.prepare(`UPDATE perdure_instance SET control_at = ? WHERE key = ? AND control_at IS NULL`)
    this.#updateMarks = driver.prepare(
      `UPDATE perdure_instance SET
        mail_at = (SELECT min(at, ?) FROM perdure_inbox WHERE instance = key ORDER BY seq LIMIT 1),
        control_at = CASE WHEN control_at IS NOT NULL THEN (
          SELECT min(at, ?) FROM perdure_inbox WHERE instance = key AND kind IN ('pause', 'resume', 'cancel', 'terminate') ORDER BY seq LIMIT 1
        ) END
      WHERE key = ?`,
    )
    this.#newer = driver.prepare(`SELECT 1 AS found FROM perdure_inbox WHERE instance = ? AND seq > ? LIMIT 1`)
    this.#read = driver.prepare(
      `SELECT m.seq, m.kind, m.at, m.topic, m.event_id, m.payload, m.chunks
      FROM perdure_instance i CROSS JOIN perdure_inbox m ON m.instance = i.key WHERE i.id = ? AND m.seq > ? ORDER BY m.seq LIMIT ?`,
    )
    this.#readChunks = driver.prepare(`SELECT bytes FROM perdure_inbox_chunk WHERE message = ? ORDER BY part`)
    this.#consume = driver.prepare(`DELETE FROM perdure_inbox WHERE seq = ? AND instance = ?`)
    this.#consumeChunks = driver.prepare(`DELETE FROM perdure_inbox_chunk WHERE message = ?`)
    this.#discard = driver.prepare(`DELETE FROM perdure_inbox WHERE instance = ?`)
    this.#discardChunks = driver.prepare(
      `DELETE FROM perdure_inbox_chunk WHERE message IN (SELECT seq FROM perdure_inbox WHERE instance = ? AND chunks IS NOT NULL)`,
    )
  }

  deliver(message: NewMessage, now: number): Delivery {
    const row = this.#instance.get(toText(message.instance))
    if (row === undefined || (message.incarnation !== undefined && message.incarnation !== text(row, "incarnation"))) return "absent"
    if (isTerminal(text(row, "status") as Status)) return "ended"
    if (message.isChecked && !takesEvent(fromEvents(row["events"]), message.topic ?? "")) return "unknown-event"
    const key = integer(row, "key")
    const eventId = message.eventId === undefined ? null : toText(message.eventId)
    if (eventId !== null && this.#unreadEvent.get(key, eventId) !== undefined) return "duplicate"

    const payload = message.payload === undefined ? null : toText(message.payload)
    const chunks = payload !== null && payload.length > inlineTextMax ? toChunks(payload) : undefined
    const topic = message.topic === undefined ? null : toText(message.topic)
    this.#insert.run(key, message.kind, message.at, topic, eventId, chunks === undefined ? payload : null, chunks?.length ?? null)
    for (const [part, chunk] of chunks?.entries() ?? []) this.#insertChunk.run(part, chunk, key)
    // If the sender's clock is ahead, the message must wake the instance now, not later.
    const at = Math.min(message.at, now)
    this.#setMailAt.run(at, key)
    if (isControl(message.kind)) this.#setControlAt.run(at, key)
    return "delivered"
  }

  /** Unread messages of one instance with a `seq` above `after`, oldest first, at most `limit` (-1: all). */
  read(id: string, after = 0, limit = -1): Message[] {
    for (let attempt = 1; ; attempt++) {
      const rows = this.#read.all(toText(id), after, limit)
      const messages: Message[] = []
      for (const row of rows) {
        const seq = integer(row, "seq")
        const chunks = optionalInteger(row, "chunks")
        const parts = chunks === undefined ? [] : this.#readChunks.all(seq)
        if (parts.length !== (chunks ?? 0)) break
        const whole = chunks === undefined ? optionalText(row, "payload") : fromText(fromChunks(parts.map((part) => bytes(part, "bytes"))))
        const topic = optionalText(row, "topic")
        const eventId = optionalText(row, "event_id")
        messages.push({
          seq,
          instance: id,
          kind: text(row, "kind") as MessageKind,
          at: integer(row, "at"),
          ...(topic === undefined ? {} : { topic }),
          ...(whole === undefined ? {} : { payload: whole }),
          ...(eventId === undefined ? {} : { eventId }),
        })
      }
      if (messages.length === rows.length) return messages
      // Another process may have consumed the message between two reads, and parts are missing then. If parts are missing again and again, the file is damaged.
      if (attempt === 3) throw new Error(`parts of a message to instance "${id}" are missing`)
    }
  }

  hasNewer(key: number, seq: number): boolean {
    return this.#newer.get(key, seq) !== undefined
  }

  consume(key: number, seqs: readonly number[], now: number): void {
    for (const seq of seqs) {
      if (this.#consume.write(seq, key)) this.#consumeChunks.run(seq)
    }
    this.#updateMarks.run(now, now, key)
  }

  discard(key: number): void {
    if (!this.hasNewer(key, 0)) return
    this.#discardChunks.run(key)
    this.#discard.run(key)
    this.#updateMarks.run(0, 0, key)
  }
}
