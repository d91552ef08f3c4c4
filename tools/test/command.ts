import { spawn } from "node:child_process"
import { once } from "node:events"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** The shells that run, each the leader of its own process group. */
const running = new Set<number>()
process.on("exit", () => running.forEach(endGroup))

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Receives what the command writes. Without it the command writes to the terminal itself. */
  readonly onText?: (text: string) => void
}

/**
 * Runs a shell command in the root of the repository, with the tools of `node_modules` first in the path. Resolves to whether the command
 * succeeded. If this process ends first, the command and all processes that it started end, too.
 */
export async function runCommand(command: string, { env, onText }: CommandOptions = {}): Promise<boolean> {
  const path = [join(root, "node_modules", ".bin"), process.env["PATH"]].join(delimiter)
  const colour = onText && process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}
  const output = onText ? "pipe" : "inherit"
  const child = spawn(command, {
    cwd: root,
    shell: true,
    detached: true,
    stdio: ["ignore", output, output],
    env: { ...process.env, ...colour, ...env, PATH: path },
  })
  const { pid } = child
  if (pid !== undefined) running.add(pid)
  child.stdout?.setEncoding("utf8").on("data", onText ?? (() => undefined))
  child.stderr?.setEncoding("utf8").on("data", onText ?? (() => undefined))
  const [code] = (await once(child, "close")) as [number | null]
  if (pid !== undefined) running.delete(pid)
  return code === 0
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGTERM")
  } catch {
    // All its processes have ended.
  }
}
