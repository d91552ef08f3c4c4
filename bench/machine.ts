// What the figures depend on: versions, settings, and the machine with its disk.

import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from "node:fs"
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { TemporaryFolders } from "./folders.ts"
import { median } from "./statistics.ts"

export interface Machine {
  readonly perdure: string
  readonly node: string
  readonly sqlite: string
  readonly settings: string
  readonly system: string
  readonly cores: number
  readonly processor: string
  readonly memoryGb: number
  readonly filesystem: string
  readonly fdatasyncMs: number
  /** Of the last minute: what others did on the machine. */
  readonly load: number
}

export function describeMachine(folder: string | undefined): Machine {
  using folders = new TemporaryFolders(folder)
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { readonly version: string }
  return {
    perdure: manifest.version,
    node: process.versions.node,
    sqlite: sqliteVersion(),
    settings: "Perdure on its defaults: SQLite, journal_mode WAL, synchronous FULL",
    system: `${type()} ${release()}`,
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? "unknown",
    memoryGb: Math.round(totalmem() / 2 ** 30),
    filesystem: filesystemOf(folders.root),
    fdatasyncMs: fdatasyncMs(folders.create()),
    load: loadavg()[0] ?? Number.NaN,
  }
}

function sqliteVersion(): string {
  const database = new DatabaseSync(":memory:")
  try {
    return String(database.prepare("SELECT sqlite_version() AS version").get()?.["version"])
  } finally {
    database.close()
  }
}

/** The median of writing and syncing 4 KB. */
function fdatasyncMs(folder: string): number {
  const file = openSync(join(folder, "sync"), "w")
  const block = Buffer.alloc(4096, 1)
  try {
    return median(
      Array.from({ length: 200 }, () => {
        const startedAt = performance.now()
        writeSync(file, block)
        fdatasyncSync(file)
        return performance.now() - startedAt
      }),
    )
  } finally {
    closeSync(file)
  }
}

/** The type of the mount that a folder is on; known on Linux only. */
function filesystemOf(folder: string): string {
  let mounts: string
  try {
    mounts = readFileSync("/proc/mounts", "utf8")
  } catch {
    return "unknown"
  }
  const found = mounts
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([, point = ""]) => point === "/" || folder === point || folder.startsWith(`${point}/`))
    .toSorted(([, a = ""], [, b = ""]) => b.length - a.length)
  return found[0]?.[2] ?? "unknown"
}
