import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { type Engine, Perdure, type Status } from "perdure"
import { type HttpServer, serve } from "perdure/http"
import { sqlite } from "perdure/sqlite"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { run } from "../../src/cli/run.ts"
import { shop } from "./shop.ts"

/** The token of the server. */
export const token = "let-me-in"

export interface Answer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface CallOptions {
  readonly stdin?: string
  readonly width?: number
  readonly env?: Record<string, string>
  readonly signal?: AbortSignal
  readonly cwd?: string
}

/** A folder with a database in it, an engine that executes its workflows, and the CLI called in this process. */
export class CliBed {
  readonly folder = mkdtempSync(join(tmpdir(), "perdure-cli-"))
  readonly db = join(this.folder, "perdure.db")
  #engine: Engine | undefined
  #server: HttpServer | undefined

  /** With `server` the CLI calls the server of the engine, and opens no file. */
  static async open(target: "file" | "server" = "file"): Promise<CliBed> {
    const bed = new CliBed()
    await bed.work()
    if (target === "server") bed.#server = await serve(bed.engine, { port: 0, token })
    return bed
  }

  get url(): string {
    return this.#server?.url ?? ""
  }

  get engine(): Engine {
    if (!this.#engine) throw new Error("the bed has no engine")
    return this.#engine
  }

  async work(): Promise<void> {
    this.#engine = await Perdure.open({ store: sqlite(this.db, { durability: "process" }), workflows: shop, log: silentLogger })
  }

  /** Closes the worker, so that no process executes workflows. */
  async rest(): Promise<void> {
    await this.#server?.close()
    this.#server = undefined
    await this.#engine?.close()
    this.#engine = undefined
  }

  /** Waits until an instance has that status. It polls, because the engine of the CLI sends no hints to this engine. */
  async until(id: string, status: Status): Promise<void> {
    while ((await this.engine.get(id).status()) !== status) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  file(name: string, content: string): string {
    const path = join(this.folder, name)
    writeFileSync(path, content)
    return path
  }

  /** Calls the CLI. Its output is no terminal. */
  async perdure(args: readonly string[], options: CallOptions = {}): Promise<Answer> {
    let stdout = ""
    let stderr = ""
    const code = await run(args, {
      stdin: Readable.from(options.stdin === undefined ? [] : [options.stdin]),
      stdout: { write: (text) => (stdout += text), ...(options.width === undefined ? undefined : { columns: options.width }) },
      stderr: { write: (text) => (stderr += text) },
      env: { HOME: this.folder, ...(this.#server && { PERDURE_URL: this.url, PERDURE_TOKEN: token }), ...options.env },
      cwd: options.cwd ?? this.folder,
      signal: options.signal ?? new AbortController().signal,
      now: () => Date.now(),
    })
    return { code, stdout, stderr }
  }

  /** Calls the CLI with --json, and parses its output. */
  async json<T>(...args: readonly string[]): Promise<T> {
    const { code, stdout, stderr } = await this.perdure([...args, "--json"])
    if (code !== 0) throw new Error(`perdure ${args.join(" ")} exits with ${code}: ${stderr}`)
    return JSON.parse(stdout) as T
  }

  async close(): Promise<void> {
    await this.rest()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
