import { expect, it } from "vitest"
import { claimableAtOf, objectRows } from "./claimable-row.ts"
import { migrate } from "../schema/migrate.ts"
import { NodeSqlDriver } from "../driver/node-sql-driver.ts"
import { migrations } from "../schema/schema.ts"

it("for any row, an instance must be claimed when the column of a file says so", () => {
  const driver = new NodeSqlDriver(":memory:", "")
  migrate(driver, migrations)
  const columns =
    "id, incarnation, workflow, version, created_at, updated_at, run, run_position, status, owner, due_at, mail_at, control_at, queued_for, queued_until, deadline_at"
  const insert = driver.prepare(`INSERT INTO perdure_instance (${columns}) VALUES (?, 'i', 'w', '1', 1, 1, 1, 1, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const statuses = ["queued", "running", "sleeping", "waiting", "paused", "stalled", "completed", "failed", "cancelled", "terminated"]
  const bits = Array.from({ length: 7 }, (_, bit) => 2 ** bit)
  driver.transaction(() => {
    for (const status of statuses) {
      for (let set = 0; set < 128; set++) {
        // Which of the times comes first differs from row to row.
        const [owner, due, mail, control, parked, queuedUntil, deadline] = bits.map((bit, at) => ((set & bit) === 0 ? null : ((set * 31 + at * 17) % 97) + 1))
        const text = (value: number | null | undefined) => ((value ?? null) === null ? null : "x")
        insert.run(`${status} ${set}`, status, text(owner), due ?? null, mail ?? null, control ?? null, text(parked), queuedUntil ?? null, deadline ?? null)
      }
    }
  })
  const rows = driver.prepare(objectRows.replace(" FROM ", ", i.claimable_at AS expected FROM ")).all()
  driver.close()
  expect(rows.map((row) => [row["id"], claimableAtOf(row)])).toEqual(rows.map((row) => [row["id"], row["expected"] ?? Infinity]))
  expect(new Set(rows.map((row) => row["expected"])).size).toBeGreaterThan(50)
})
