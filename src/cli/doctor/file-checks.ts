import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { databaseBytes, integrityProblems, newestSchema, schemaOf } from "../../stores/sqlite/file/database-file.ts"
import { bytesText } from "../output/bytes.ts"
import { fail, type Finding, ok, warn } from "./finding.ts"

const mebibyte = 1024 * 1024
const logBytesMax = 256 * mebibyte

/** Checks whether a database file can be used, is intact, and has room to grow. `isReadable` says whether its content can be checked too. */
export function fileChecks(db: string): { readonly findings: readonly Finding[]; readonly isReadable: boolean } {
  if (!existsSync(db)) return { findings: [fail("file", `there is no file "${db}"`, "give the path of the database with --db")], isReadable: false }
  const findings = [checkAccess(db), checkSpace(db)]
  try {
    findings.push(checkSchema(db), checkIntegrity(db), checkLog(db))
    return { findings, isReadable: schemaOf(db).version > 0 }
  } catch (error) {
    findings.push(
      fail("database", error instanceof Error ? error.message : String(error), "restore a backup (perdure restore), if the message does not say more"),
    )
    return { findings, isReadable: false }
  }
}

function checkAccess(db: string): Finding {
  for (const [path, what] of [
    [db, "the file"],
    [dirname(db), "its folder"],
  ] as const) {
    try {
      accessSync(path, constants.R_OK | constants.W_OK)
    } catch {
      return fail("permissions", `${what} "${path}" cannot be read and written`, "make both the file and its folder writable for this user")
    }
  }
  return ok("permissions", "the file and its folder can be written")
}

function checkSpace(db: string): Finding {
  const { bavail, bsize } = statfsSync(dirname(db))
  const free = Number(bavail) * Number(bsize)
  const size = statSync(db).size
  if (free < 50 * mebibyte) return fail("disk", `${bytesText(free)} free`, "make room: writes fail when the disk is full")
  if (free < Math.max(1024 * mebibyte, size))
    return warn("disk", `${bytesText(free)} free, and the database has ${bytesText(size)}`, "make room: a backup or a large write may not fit")
  return ok("disk", `${bytesText(free)} free`)
}

function checkSchema(db: string): Finding {
  const { version, compatible } = schemaOf(db)
  if (version === 0) return fail("schema", "the file has no tables of Perdure", "give the database that your program opens with --db")
  if (compatible > newestSchema) return fail("schema", `version ${version}, and this perdure knows up to ${newestSchema}`, "upgrade perdure")
  if (version < newestSchema)
    return warn(
      "schema",
      `version ${version}, and this perdure has ${newestSchema}`,
      "it is migrated when an engine opens it, or by perdure migrate; back it up first",
    )
  return ok("schema", `version ${version}`)
}

function checkIntegrity(db: string): Finding {
  const problems = integrityProblems(db, 5)
  const size = bytesText(databaseBytes(db))
  if (problems.length === 0) return ok("integrity", `${size}, whole`)
  return fail("integrity", problems.join("; "), "stop all workers, keep a copy of the file, and restore a backup (perdure restore)")
}

function checkLog(db: string): Finding {
  const log = `${db}-wal`
  const size = existsSync(log) ? statSync(log).size : 0
  if (size <= logBytesMax) return ok("log", `${bytesText(size)} in the log beside the file`)
  return warn("log", `${bytesText(size)} in the log beside the file`, "some process reads for very long; find it, and close it")
}
