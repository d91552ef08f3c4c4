import type { UniqueUse } from "../../../ports/flow-control.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { integer, text } from "../driver/sql-columns.ts"

/** Unique keys and the instances that have them. Callers that write are in a transaction. */
export class UniqueTable {
  readonly #find: SqlStatement
  readonly #holder: SqlStatement
  readonly #acquire: SqlStatement
  readonly #release: SqlStatement

  constructor(driver: SqlDriver) {
    this.#find = driver.prepare(`SELECT instance FROM perdure_unique WHERE kind = ? AND key = ?`)
    this.#holder = driver.prepare(`SELECT i.id FROM perdure_unique u CROSS JOIN perdure_instance i ON i.key = u.instance WHERE u.kind = ? AND u.key = ?`)
    this.#acquire = driver.prepare(`INSERT INTO perdure_unique (kind, key, instance) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`)
    this.#release = driver.prepare(`DELETE FROM perdure_unique WHERE kind = ? AND key = ? AND instance = ?`)
  }

  /** Whether no other instance has one of these keys. `instance` is undefined for an instance that does not exist yet. */
  areFree(uses: readonly UniqueUse[], instance: number | undefined): boolean {
    return uses.every(({ kind, key }) => {
      const row = this.#find.get(kind, toText(key))
      return row === undefined || integer(row, "instance") === instance
    })
  }

  acquire(uses: readonly UniqueUse[], instance: number): void {
    for (const { kind, key } of uses) this.#acquire.run(kind, toText(key), instance)
  }

  release(uses: readonly UniqueUse[], instance: number): void {
    for (const { kind, key } of uses) this.#release.run(kind, toText(key), instance)
  }

  holder({ kind, key }: UniqueUse): string | undefined {
    const row = this.#holder.get(kind, toText(key))
    return row === undefined ? undefined : text(row, "id")
  }
}
