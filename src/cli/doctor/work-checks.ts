import { databaseBytes, reading } from "../../stores/sqlite/file/database-file.ts"
import { bytesText } from "../output/bytes.ts"
import { type Finding, ok, warn } from "./finding.ts"
import { lockHolder } from "./lock-holder.ts"
import { overdueFinding, overdueMs, shownMax, stalledFinding } from "./work-findings.ts"

const deepBytesMax = 1024 ** 3
const journalBytesMax = 16 * 1024 * 1024

/** Checks the content of a database: which worker has it, what waits for a person, and what has grown large. */
export function workChecks(db: string, now: number): readonly Finding[] {
  return [checkWorker(db), checkStalled(db), checkOverdue(db, now), checkJournals(db)]
}

function checkWorker(db: string): Finding {
  const holder = lockHolder(db)
  if (!holder) return warn("worker", "no process executes the workflows", "start your program, or perdure worker")
  const { pid, command } = holder
  return ok("worker", `a process executes the workflows${pid === undefined ? "" : `: ${pid}${command === undefined ? "" : ` (${command})`}`}`)
}

function checkStalled(db: string): Finding {
  const [ids, count] = reading(db, (driver) => {
    const rows = driver.prepare(`SELECT id FROM perdure_instance WHERE status = 'stalled' ORDER BY created_at LIMIT ${shownMax}`).all()
    const total = driver.prepare(`SELECT count(*) AS count FROM perdure_instance WHERE status = 'stalled'`).get()
    return [rows.map((row) => String(row["id"])), Number(total?.["count"] ?? 0)] as const
  })
  return stalledFinding(count, ids)
}

function checkOverdue(db: string, now: number): Finding {
  const row = reading(db, (driver) =>
    driver.prepare(`SELECT count(*) AS count, min(claimable_at) AS since, min(id) AS id FROM perdure_instance WHERE claimable_at <= ?`).get(now - overdueMs),
  )
  return overdueFinding(Number(row?.["count"] ?? 0), now - Number(row?.["since"] ?? now), String(row?.["id"]))
}

function checkJournals(db: string): Finding {
  const size = databaseBytes(db)
  if (size > deepBytesMax) return ok("journals", `not measured in a database of ${bytesText(size)}`)
  const rows = reading(db, (driver) =>
    driver
      .prepare(
        `SELECT i.id AS id, sum(length(j.entries)) AS bytes, max(j.position + j.count - 1) AS entries FROM perdure_journal j
          JOIN perdure_instance i ON i.key = j.instance WHERE i.end_position IS NULL GROUP BY j.instance ORDER BY bytes DESC LIMIT 1`,
      )
      .all(),
  )
  const [largest] = rows
  if (!largest) return ok("journals", "no instance is open")
  const bytes = Number(largest["bytes"])
  const text = `the longest of an open instance: ${String(largest["id"])}, ${bytesText(bytes)} in ${String(largest["entries"])} entries`
  return bytes > journalBytesMax ? warn("journals", text, "a long loop should continueAsNew now and then: each load replays all of it") : ok("journals", text)
}
