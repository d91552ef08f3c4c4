// PgBouncer in transaction mode before a test server: two transactions of one client may go over two connections.

import { type ChildProcess, execFileSync, spawn, type SpawnOptions } from "node:child_process"
import { once } from "node:events"
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort, nobody, says } from "./server.ts"

export class PgBouncer {
  /** The address of the server's database, through PgBouncer. */
  readonly url: string
  readonly #folder: string
  readonly #process: ChildProcess

  private constructor(url: string, folder: string, process: ChildProcess) {
    this.url = url
    this.#folder = folder
    this.#process = process
  }

  static async start(binary: string, server: string, more: readonly string[] = []): Promise<PgBouncer> {
    const { hostname, port, username, password, pathname } = new URL(server)
    const own = await freePort()
    const folder = mkdtempSync(join(tmpdir(), "perdure-pgbouncer-"))
    const users = join(folder, "users.txt")
    const settings = join(folder, "pgbouncer.ini")
    writeFileSync(users, `"${username}" "${decodeURIComponent(password)}"\n`)
    const lines = [
      "[databases]",
      `* = host=${hostname} port=${port}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${own}`,
      "unix_socket_dir =",
      "auth_type = scram-sha-256",
      `auth_file = ${users}`,
      "pool_mode = transaction",
      "max_client_conn = 1000",
      "default_pool_size = 25",
      ...more,
    ]
    writeFileSync(settings, `${lines.join("\n")}\n`)
    chmodSync(folder, 0o755)
    const options: SpawnOptions = { cwd: folder, stdio: ["ignore", "ignore", "pipe"] }
    if (process.getuid?.() === 0) {
      Object.assign(options, nobody)
      for (const path of [folder, users, settings]) chownSync(path, nobody.uid, nobody.gid)
    }
    const child = spawn(binary, [settings], options)
    await says(child, "process up")
    return new PgBouncer(`postgresql://${username}:${password}@127.0.0.1:${own}${pathname}`, folder, child)
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, "exit")
      this.#process.kill("SIGQUIT")
      await ended
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** The path and version of the PgBouncer that PGBOUNCER names, or that is installed. */
export function findPgBouncer(): { readonly binary: string; readonly version: string } | undefined {
  const given = process.env["PGBOUNCER"]
  for (const binary of given === undefined ? ["pgbouncer", "/usr/sbin/pgbouncer", "/usr/local/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"] : [given]) {
    try {
      const version = /PgBouncer (\S+)/.exec(execFileSync(binary, ["--version"], { encoding: "utf8" }))?.[1]
      if (version !== undefined) return { binary, version }
    } catch {
      // This one is not installed.
    }
  }
  return undefined
}
