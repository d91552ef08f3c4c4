import type { KeySettings, Membership, LimitSetting } from "../../../../ports/cloudflare/limit-settings.ts"
import type { SqlDriver, SqlRow } from "../../../../ports/sql-driver.ts"
import { toText } from "../../../shared/unsafe-text.ts"
import { integer, optionalInteger, text } from "../../driver/sql-columns.ts"

/** The key has not received a setting with its token yet. */
const noRevision = -1

export class SqliteKeySettings implements KeySettings {
  readonly #driver: SqlDriver

  constructor(driver: SqlDriver) {
    this.#driver = driver
  }

  get inForce(): LimitSetting["to"] {
    const row = this.#row()
    const max = row && optionalInteger(row, "max")
    const perMs = row && optionalInteger(row, "per_ms")
    return max === undefined ? undefined : { max, ...(perMs === undefined ? undefined : { perMs }) }
  }

  get isJoined(): boolean {
    return this.#row()?.["joined"] === 1
  }

  join({ workflow, name, key }: Omit<Membership, "token">): Membership {
    const existing = this.#membership()
    if (existing !== undefined) return existing
    const token = crypto.randomUUID()
    // The numbers of an earlier membership stay in force until the key receives a setting.
    this.#driver
      .prepare(
        `INSERT INTO perdure_limit_setting (id, workflow, name, key, token, joined, revision) VALUES (1, ?, ?, ?, ?, 0, ${noRevision})
        ON CONFLICT (id) DO UPDATE SET token = excluded.token, joined = 0, revision = ${noRevision}`,
      )
      .run(...[workflow, name, key, token].map(toText))
    return { workflow, name, key, token }
  }

  receive(token: string, { revision, to }: LimitSetting): boolean {
    const row = this.#row()
    if (row === undefined || this.#membership()?.token !== token) return false
    if (revision > integer(row, "revision"))
      this.#driver
        .prepare(`UPDATE perdure_limit_setting SET joined = 1, revision = ?, max = ?, per_ms = ? WHERE id = 1`)
        .run(revision, to?.max ?? null, to?.perMs ?? null)
    return true
  }

  leave(): Membership | undefined {
    const ended = this.#membership()
    if (ended) this.#driver.prepare(`UPDATE perdure_limit_setting SET token = '', joined = 0 WHERE id = 1`).run()
    return ended
  }

  #membership(): Membership | undefined {
    const row = this.#row()
    if (row === undefined || row["token"] === "") return undefined
    return { workflow: text(row, "workflow"), name: text(row, "name"), key: text(row, "key"), token: text(row, "token") }
  }

  #row(): SqlRow | undefined {
    return this.#driver.prepare(`SELECT workflow, name, key, token, joined, revision, max, per_ms FROM perdure_limit_setting WHERE id = 1`).get()
  }
}
