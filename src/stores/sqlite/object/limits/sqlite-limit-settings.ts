import type { LimitOverride } from "../../../../ports/flow-control.ts"
import type { LimitKeyEntry, LimitSettingsTables, LimitSetting } from "../../../../ports/cloudflare/limit-settings.ts"
import type { SqlDriver, SqlRow, SqlValue } from "../../../../ports/sql-driver.ts"
import { toText } from "../../../shared/unsafe-text.ts"
import { migrate, versionOf } from "../../schema/migrate.ts"
import type { Migration } from "../../schema/schema.ts"
import { integer, optionalInteger, text } from "../../driver/sql-columns.ts"

const versionTable = "perdure_limit_settings_meta"

/**
 * The tables of one workflow's limit settings, which have a database of their own.
 *
 *   limit_override  each limit for which numbers were ever set. `max` is null if the declared numbers are in force. `revision`: of the last change
 *   limit_key       the limit keys that have joined, and the last revision that each has acknowledged
 */
const settingsMigrations: readonly Migration[] = [
  {
    version: 1,
    compatible: 1,
    statements: [
      `CREATE TABLE perdure_limit_override (name TEXT PRIMARY KEY, revision INTEGER NOT NULL, max INTEGER, per_ms INTEGER) STRICT, WITHOUT ROWID`,
      `CREATE TABLE perdure_limit_key (key TEXT PRIMARY KEY, name TEXT NOT NULL, token TEXT NOT NULL, notified_revision INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
    ],
  },
]

/** The settings of one workflow's limits in a SQLite database of their own. The first write creates the tables. */
export class SqliteLimitSettings implements LimitSettingsTables {
  readonly #driver: SqlDriver

  constructor(driver: SqlDriver) {
    this.#driver = driver
    if (this.isThere()) this.#prepare()
  }

  isThere(): boolean {
    return versionOf(this.#driver, versionTable).version > 0
  }

  overrides(): ReadonlyMap<string, NonNullable<LimitSetting["to"]>> {
    const rows = this.isThere() ? this.#driver.prepare(`SELECT name, revision, max, per_ms FROM perdure_limit_override WHERE max IS NOT NULL`).all() : []
    return new Map(rows.map((row) => [text(row, "name"), toSetting(row).to ?? { max: 0 }]))
  }

  set(changes: readonly LimitOverride[]): void {
    this.#prepare()
    this.#driver.transaction(() => {
      for (const { name, to } of changes) {
        this.#run(
          `INSERT INTO perdure_limit_override (name, revision, max, per_ms) VALUES (?, 1, ?, ?)
          ON CONFLICT (name) DO UPDATE SET revision = revision + 1, max = excluded.max, per_ms = excluded.per_ms`,
          toText(name),
          to?.max ?? null,
          to?.perMs ?? null,
        )
      }
    })
  }

  join({ key, name, token }: LimitKeyEntry): LimitSetting {
    this.#prepare()
    return this.#driver.transaction(() => {
      const row = this.#driver.prepare(`SELECT revision, max, per_ms FROM perdure_limit_override WHERE name = ?`).get(toText(name))
      const setting = row === undefined ? { revision: 0 } : toSetting(row)
      this.#run(
        `INSERT INTO perdure_limit_key (key, name, token, notified_revision) VALUES (?, ?, ?, ?)
        ON CONFLICT (key) DO UPDATE SET name = excluded.name, token = excluded.token, notified_revision = excluded.notified_revision`,
        ...[key, name, token].map(toText),
        setting.revision,
      )
      return setting
    })
  }

  leave({ key, token }: Pick<LimitKeyEntry, "key" | "token">): void {
    if (this.isThere()) this.#run(`DELETE FROM perdure_limit_key WHERE key = ? AND token = ?`, toText(key), toText(token))
  }

  unnotified(limit: number, after = ""): readonly (LimitKeyEntry & { readonly setting: LimitSetting })[] {
    if (!this.isThere()) return []
    return this.#driver
      .prepare(
        `SELECT k.key, k.name, k.token, s.revision, s.max, s.per_ms FROM perdure_limit_override s JOIN perdure_limit_key k ON k.name = s.name
        WHERE k.notified_revision < s.revision AND k.key > ? ORDER BY k.key LIMIT ?`,
      )
      .all(toText(after), limit)
      .map((row) => ({ key: text(row, "key"), name: text(row, "name"), token: text(row, "token"), setting: toSetting(row) }))
  }

  markNotified({ key, token }: LimitKeyEntry, revision: number): void {
    this.#run(`UPDATE perdure_limit_key SET notified_revision = max(notified_revision, ?) WHERE key = ? AND token = ?`, revision, toText(key), toText(token))
  }

  isEmpty(): boolean {
    if (!this.isThere()) return true
    const sql = `SELECT 1 AS found FROM perdure_limit_key UNION ALL SELECT 1 FROM perdure_limit_override WHERE max IS NOT NULL LIMIT 1`
    return this.#driver.prepare(sql).get() === undefined
  }

  #prepare(): void {
    migrate(this.#driver, settingsMigrations, versionTable)
  }

  #run(sql: string, ...values: SqlValue[]): void {
    this.#driver.prepare(sql).run(...values)
  }
}

function toSetting(row: SqlRow): LimitSetting {
  const max = optionalInteger(row, "max")
  const perMs = optionalInteger(row, "per_ms")
  return { revision: integer(row, "revision"), ...(max === undefined ? undefined : { to: { max, ...(perMs === undefined ? undefined : { perMs }) } }) }
}
