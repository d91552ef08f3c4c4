import type { Turn } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { fromTags, toTags } from "./instance-row.ts"
import { textOrNull, toText } from "../../shared/unsafe-text.ts"
import { integer, optionalText } from "../driver/sql-columns.ts"

/** Writes tags and memos of instances, within a transaction of the caller. */
export class InstanceAnnotations {
  readonly #find: SqlStatement
  readonly #tag: SqlStatement
  readonly #untag: SqlStatement
  readonly #setTags: SqlStatement
  readonly #setMemo: SqlStatement

  constructor(driver: SqlDriver) {
    this.#find = driver.prepare(`SELECT tags, created_at FROM perdure_instance WHERE key = ?`)
    this.#tag = driver.prepare(`INSERT INTO perdure_tag (tag, created_at, instance) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`)
    this.#untag = driver.prepare(`DELETE FROM perdure_tag WHERE tag = ? AND created_at = ? AND instance = ?`)
    this.#setTags = driver.prepare(`UPDATE perdure_instance SET tags = ?, updated_at = ? WHERE key = ?`)
    this.#setMemo = driver.prepare(`UPDATE perdure_instance SET memo = ?, updated_at = ? WHERE key = ?`)
  }

  tag(key: number, createdAt: number, tags: readonly string[]): void {
    for (const tag of tags) this.#tag.run(toText(tag), createdAt, key)
  }

  untag(key: number, createdAt: number, tags: readonly string[]): void {
    for (const tag of tags) this.#untag.run(toText(tag), createdAt, key)
  }

  /** Writes the tags and the memo of a turn, if the turn has any. */
  write(key: number, { tags, memo, at }: Turn): void {
    if (memo !== undefined) this.#setMemo.run(textOrNull(memo), at, key)
    const row = tags === undefined ? undefined : this.#find.get(key)
    if (row === undefined || tags === undefined) return
    const before = fromTags(optionalText(row, "tags"))
    const createdAt = integer(row, "created_at")
    this.untag(
      key,
      createdAt,
      before.filter((tag) => !tags.includes(tag)),
    )
    this.tag(
      key,
      createdAt,
      tags.filter((tag) => !before.includes(tag)),
    )
    this.#setTags.run(toTags(tags), at, key)
  }
}
