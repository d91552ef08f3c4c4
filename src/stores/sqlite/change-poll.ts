import type { SqlDriver, SqlStatement } from "../../ports/sql-driver.ts"

/**
 * Notices what other connections to the file have committed: SQLite's `data_version` changes then, and only then.
 * Asks only while somebody listens, and does not keep the process alive.
 */
export class ChangePoll {
  readonly #version: SqlStatement
  readonly #intervalMs: number
  readonly #listeners = new Set<() => void>()
  #timer: ReturnType<typeof setInterval> | undefined
  #last: unknown

  constructor(driver: SqlDriver, intervalMs: number) {
    this.#version = driver.prepare("PRAGMA data_version")
    this.#intervalMs = intervalMs
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.#start()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.stop()
    }
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#listeners.clear()
  }

  #start(): void {
    if (this.#timer !== undefined) return
    this.#last = this.#read()
    this.#timer = setInterval(() => this.#look(), this.#intervalMs)
    this.#timer.unref()
  }

  #look(): void {
    const version = this.#read()
    if (version === this.#last) return
    this.#last = version
    for (const listener of this.#listeners) listener()
  }

  #read(): unknown {
    try {
      return this.#version.get()?.["data_version"]
    } catch {
      // A hint may be lost. Whatever is wrong with the file, the next real call tells it.
      return this.#last
    }
  }
}
