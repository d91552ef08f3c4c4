import { spawn, type SpawnOptions } from "node:child_process"
import { once } from "node:events"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Answer, CliBed } from "./cli-bed.ts"

export const mainScript = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url))

/** All processes of all runs share the cache, because a short process spends most of its time loading modules. */
const compileCache = join(tmpdir(), "perdure-cli-compile-cache")

/** The environment of a process, without the settings of the machine. */
export function environment(bed: CliBed, more: Record<string, string> = {}): Record<string, string> {
  return { HOME: bed.folder, PATH: process.env["PATH"] ?? "", TZ: "UTC", LANG: "C.UTF-8", NODE_COMPILE_CACHE: compileCache, ...more }
}

/** The CLI in a process of its own. */
export class CommandProcess {
  readonly answer: Promise<Answer & { readonly signal: NodeJS.Signals | null }>
  readonly #child: ReturnType<typeof spawn>
  #stdout = ""
  #stderr = ""

  constructor(bed: CliBed, command: string, args: readonly string[], options: SpawnOptions = {}) {
    this.#child = spawn(command, args, { cwd: bed.folder, env: environment(bed), stdio: ["ignore", "pipe", "pipe"], ...options })
    this.#child.stdout?.on("data", (data: Buffer) => (this.#stdout += data.toString()))
    this.#child.stderr?.on("data", (data: Buffer) => (this.#stderr += data.toString()))
    this.answer = once(this.#child, "close").then(([code, signal]) => ({
      code: (code as number | null) ?? -1,
      signal: signal as NodeJS.Signals | null,
      stdout: this.#stdout,
      stderr: this.#stderr,
    }))
  }

  static perdure(bed: CliBed, env: Record<string, string>, ...args: readonly string[]): CommandProcess {
    return new CommandProcess(bed, process.execPath, [mainScript, ...args], { env })
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Waits until the process has printed a match. */
  async printed(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.#stdout + this.#stderr)) {
      const over = await Promise.race([once(this.#child.stdout ?? this.#child, "data"), once(this.#child.stderr ?? this.#child, "data"), this.answer])
      if ("code" in over) throw new Error(`it ended before it printed ${String(pattern)}: ${this.#stdout}${this.#stderr}`)
    }
  }
}
