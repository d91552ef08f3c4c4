import { formatDuration } from "../../core/time/duration.ts"
import { newestSchema, schemaVersion, serverState, type ServerState, type WorkState, workState } from "../../stores/postgres/maintenance.ts"
import { CommandError } from "../exit-code.ts"
import { bytesText } from "../output/bytes.ts"
import { inspect, serverName } from "../target/server-database.ts"
import { fail, type Finding, ok, warn } from "./finding.ts"
import { overdueFinding, overdueMs, shownMax, stalledFinding } from "./work-findings.ts"

const oldestServer = 140_000
const clockMs = 5_000
const openMs = 60_000

/** Checks a PostgreSQL server, the schema, and its content. It changes nothing. */
export async function serverChecks(db: string, now: () => number): Promise<readonly Finding[]> {
  try {
    return await inspect(db, async (database) => {
      const askedAt = now()
      const state = await serverState(database)
      const findings = [checkVersion(db, state), checkClock(state, askedAt, now()), checkConnections(state), checkOpen(state)]
      const { version, compatible } = await schemaVersion(database)
      findings.push(checkSchema(version, compatible))
      return version === 0 || compatible > newestSchema ? findings : [...findings, ...workFindings(await workState(database, shownMax, overdueMs), state.now)]
    })
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    return [fail("server", error.message, "start it, or give another --db")]
  }
}

function checkVersion(db: string, { version, versionNumber, bytes }: ServerState): Finding {
  const text = `PostgreSQL ${version} at "${serverName(db)}"`
  if (versionNumber < oldestServer) return fail("server", text, "use PostgreSQL 14 or later")
  return ok("server", `${text}, ${bytesText(bytes)} in the database`)
}

function checkClock({ now }: ServerState, askedAt: number, answeredAt: number): Finding {
  const off = Math.max(askedAt - now, now - answeredAt, 0)
  if (off < clockMs) return ok("clock", "the server's and this machine's agree")
  return warn("clock", `the server's is ${formatDuration(off)} from this machine's`, "the server's counts; set both by the same source of time")
}

function checkConnections({ connections, connectionsMax }: ServerState): Finding {
  const text = `${connections} of ${connectionsMax} in use`
  if (connections < connectionsMax * 0.9) return ok("connections", text)
  return warn("connections", text, "give engines a smaller maxConnections, raise max_connections, or put a pooler between")
}

/** An open write may still commit, so followers of changes cannot read past it. */
function checkOpen({ oldestWriteMs = 0 }: ServerState): Finding {
  if (oldestWriteMs < openMs) return ok("transactions", "none that writes is open for long")
  return warn(
    "transactions",
    `one that writes has been open for ${formatDuration(oldestWriteMs)}, and holds back the stream of changes`,
    "find it in pg_stat_activity, by backend_xid and xact_start",
  )
}

function checkSchema(version: number, compatible: number): Finding {
  if (version === 0) return fail("schema", "the database has no tables of Perdure", "start your program, or run perdure migrate")
  if (compatible > newestSchema) return fail("schema", `version ${version}, and this perdure knows up to ${newestSchema}`, "upgrade perdure")
  if (version < newestSchema)
    return warn("schema", `version ${version}, and this perdure has ${newestSchema}`, "it is migrated when an engine opens it, or by perdure migrate")
  return ok("schema", `version ${version}`)
}

function workFindings({ workers, stalled, overdue }: WorkState, now: number): readonly Finding[] {
  const worker =
    workers === 0
      ? warn("workers", "no process executes the workflows", "start your program, or perdure worker")
      : ok("workers", `${workers} ${workers === 1 ? "process executes" : "processes execute"} the workflows`)
  return [worker, stalledFinding(stalled.count, stalled.ids), overdueFinding(overdue.count, now - (overdue.since ?? now), overdue.id ?? "")]
}
