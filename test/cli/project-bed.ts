import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { type Engine, Perdure, type AnyWorkflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { run } from "../../src/cli/run.ts"

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url))
/** The flags of Node with which the command line is a later version of perdure, whose schema has one migration more. */
export const laterPerdure = ["--import", new URL("later-perdure.ts", import.meta.url).href] as const
const library = new URL("../../src/index.ts", import.meta.url).href

/** A project of a user in a folder of its own, in which the CLI runs as a process. */
export class ProjectBed {
  readonly folder = mkdtempSync(join(tmpdir(), "perdure-project-"))
  readonly db = join(this.folder, "perdure.db")
  readonly #processes = new Set<CliProcess>()

  constructor() {
    this.write("package.json", `{ "type": "module" }`)
  }

  write(name: string, content: string): string {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    return path
  }

  /** Writes a module with workflows. Its import `perdure` is the source of this repository. */
  module(name: string, code: string): string {
    return this.write(name, `import { workflow } from ${JSON.stringify(library)}\n${code}\n`)
  }

  /** Opens an engine in this process, on the database of the project. */
  engine(workflows: readonly AnyWorkflow[], role: "worker" | "client" = "worker"): Promise<Engine> {
    return Perdure.open({ store: sqlite(this.db, { durability: "process" }), workflows, role })
  }

  start(args: readonly string[], flags: readonly string[] = []): CliProcess {
    const started = new CliProcess(
      spawn(process.execPath, [...flags, main, ...args], {
        cwd: this.folder,
        env: { PATH: process.env["PATH"], HOME: this.folder },
        stdio: ["ignore", "pipe", "pipe"],
      }),
    )
    this.#processes.add(started)
    return started
  }

  async run(
    args: readonly string[],
    flags: readonly string[] = [],
  ): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
    const started = this.start(args, flags)
    const code = await started.ended
    return { code, stdout: started.stdout, stderr: started.stderr }
  }

  /** Calls the CLI in this process, which is quicker. Node does not load modules of the project here. */
  async call(...args: readonly string[]): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
    let stdout = ""
    let stderr = ""
    const code = await run(args, {
      stdin: Readable.from([]),
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
      env: { HOME: this.folder },
      cwd: this.folder,
      signal: new AbortController().signal,
      now: () => Date.now(),
    })
    return { code, stdout, stderr }
  }

  async json<T>(...args: readonly string[]): Promise<T> {
    const { stdout, stderr } = await this.call(...args, "--json")
    if (stdout === "") throw new Error(stderr)
    return JSON.parse(stdout) as T
  }

  async close(): Promise<void> {
    for (const started of this.#processes) await started.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export class CliProcess {
  readonly child: ChildProcess
  stdout = ""
  stderr = ""
  readonly ended: Promise<number | null>
  readonly #listeners = new Set<() => void>()

  constructor(child: ChildProcess) {
    this.child = child
    child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#add("stdout", text))
    child.stderr?.setEncoding("utf8").on("data", (text: string) => this.#add("stderr", text))
    this.ended = new Promise((resolve) => child.on("close", resolve))
  }

  get output(): string {
    return this.stdout + this.stderr
  }

  /** Waits until the process has printed a match after the first `from` characters of the stream. */
  async said(stream: "stdout" | "stderr", pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this[stream].slice(from))
      if (found) return found
      const isOver = this.child.exitCode !== null || this.child.signalCode !== null
      if (isOver) throw new Error(`it ended without printing ${String(pattern)}:\n${this.output}`)
      await Promise.race([new Promise<void>((resolve) => this.#listeners.add(resolve)), this.ended])
    }
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name)
  }

  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill("SIGKILL")
    await this.ended
  }

  #add(stream: "stdout" | "stderr", text: string): void {
    this[stream] += text
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }
}
