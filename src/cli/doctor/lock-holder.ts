import { existsSync, readFileSync, realpathSync, statSync } from "node:fs"
import { basename } from "node:path"
import { WorkerLock } from "../../stores/sqlite/file/worker-lock.ts"

/** The process that executes the workflows of a database; undefined if there is none. `pid` is known if the system tells it. */
export function lockHolder(db: string): { readonly pid?: number; readonly command?: string } | undefined {
  if (!WorkerLock.isHeld(db)) return undefined
  const pid = holderOf(`${realpathSync(db)}-worker`)
  return pid === undefined ? {} : { pid, ...commandOf(pid) }
}

/** Reads the list of locks of Linux, which names files by their inode. */
function holderOf(path: string): number | undefined {
  if (!existsSync("/proc/locks") || !existsSync(path)) return undefined
  const { ino } = statSync(path)
  for (const line of readFileSync("/proc/locks", "utf8").split("\n")) {
    const [, pid] = new RegExp(`WRITE\\s+(\\d+)\\s+[0-9a-f]+:[0-9a-f]+:${ino}\\s`).exec(line) ?? []
    if (pid !== undefined) return Number(pid)
  }
  return undefined
}

function commandOf(pid: number): { readonly command?: string } {
  try {
    return { command: shortCommand(readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")) }
  } catch {
    return {}
  }
}

const commandLengthMax = 60

/** Shortens a command line: the program and its script without their folders, and without options of the program. */
export function shortCommand([program = "", ...words]: readonly string[]): string {
  const at = words.findIndex((word) => !word.startsWith("-"))
  const script = basename(words[at] ?? "")
  if (/^dev-child\.[jt]s$/.test(script)) return "perdure dev"
  const text = [basename(program), script, ...words.slice(at + 1)].join(" ").trim()
  return text.length > commandLengthMax ? `${text.slice(0, commandLengthMax - 1)}…` : text
}
