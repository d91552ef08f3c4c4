import { existsSync, readFileSync, realpathSync, statSync } from "node:fs"
import { WorkerLock } from "../../stores/sqlite/worker-lock.ts"

/** Which process executes the workflows of a database; undefined: none does. `pid` is known where the system tells. */
export function lockHolder(db: string): { readonly pid?: number; readonly command?: string } | undefined {
  if (!WorkerLock.isHeld(db)) return undefined
  const pid = holderOf(`${realpathSync(db)}-worker`)
  return pid === undefined ? {} : { pid, ...commandOf(pid) }
}

/** Linux lists locks by the number of their file. */
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
    return { command: readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim() }
  } catch {
    return {}
  }
}
