// A process that holds the write lock of a database file, as a backup tool or a SQL shell might: `node lock-process.ts <file> <ms> [<BEGIN …>]`.
// It prints "locked" when it has the lock, and "free" when it has given the lock back.

import { DatabaseSync } from "node:sqlite"
import { setTimeout as delay } from "node:timers/promises"

const [file = "", ms = "0", begin = "BEGIN IMMEDIATE"] = process.argv.slice(2)
const database = new DatabaseSync(file, { timeout: 10_000 })
database.exec(begin)
process.stdout.write("locked\n")
await delay(Number(ms))
database.exec("COMMIT")
process.stdout.write("free\n")
database.close()
