import type { UniqueUse } from "../../../ports/flow-control.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { integer, text } from "../driver/sql-columns.ts"

/** Keys that at most one instance has. Writers are in a transaction. */
export class UniqueTable {
  readonly #find: SqlStatement
  readonly #holder: SqlStatement
  readonly #take: SqlStatement
  readonly #free: SqlStatement

  constructor(driver: SqlDriver) {
    this.#find = driver.prepare(`SELECT instance FROM perdure_unique WHERE kind = ? AND key = ?`)
    this.#holder = driver.prepare(`SELECT i.id FROM perdure_unique u CROSS JOIN perdure_instance i ON i.key = u.instance WHERE u.kind = ? AND u.key = ?`)
    this.#take = driver.prepare(`INSERT INTO perdure_unique (kind, key, instance) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`)
    this.#free = driver.prepare(`DELETE FROM perdure_unique WHERE kind = ? AND key = ? AND instance = ?`)
  }

  /** Whether nobody but this instance has one of them; a new instance has no key of its own yet. */
  areFree(uses: readonly UniqueUse[], instance: number | undefined): boolean {
    return uses.every(({ kind, key }) => {
      const row = this.#find.get(kind, toText(key))
      return row === undefined || integer(row, "instance") === instance
    })
  }

  take(uses: readonly UniqueUse[], instance: number): void {
    for (const { kind, key } of uses) this.#take.run(kind, toText(key), instance)
  }

  free(uses: readonly UniqueUse[], instance: number): void {
    for (const { kind, key } of uses) this.#free.run(kind, toText(key), instance)
  }

  holder({ kind, key }: UniqueUse): string | undefined {
    const row = this.#holder.get(kind, toText(key))
    return row === undefined ? undefined : text(row, "id")
  }
}
