import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { ClientLoad } from "./client-load.ts"
import { type WorkerOptions, WorkerProcess } from "./worker-process.ts"

/** A folder with a database, a client on it, and the worker processes that a test starts there. */
export class CrashBed {
  readonly folder: string
  readonly path: string
  readonly load: ClientLoad
  readonly #processes: WorkerProcess[] = []

  private constructor(folder: string, load: ClientLoad) {
    this.folder = folder
    this.path = join(folder, "app.db")
    this.load = load
  }

  static async open(): Promise<CrashBed> {
    const folder = mkdtempSync(join(tmpdir(), "perdure-crash-"))
    return new CrashBed(folder, await ClientLoad.open(join(folder, "app.db")))
  }

  spawn(options: Omit<WorkerOptions, "folder" | "life"> = {}): WorkerProcess {
    const worker = new WorkerProcess({ ...options, folder: this.folder, life: this.#processes.length + 1 })
    this.#processes.push(worker)
    return worker
  }

  /** The result of SQLite's integrity check; `["ok"]` means that the file is intact. */
  integrity(): readonly unknown[] {
    const database = new DatabaseSync(this.path, { readOnly: true })
    try {
      return database
        .prepare("PRAGMA integrity_check")
        .all()
        .map((row) => row["integrity_check"])
    } finally {
      database.close()
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((worker) => worker.kill()))
    await this.load.engine.close()
    rmSync(this.folder, { recursive: true })
  }
}
