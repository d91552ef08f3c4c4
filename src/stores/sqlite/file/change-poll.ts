import type { NodeSqlDriver } from "../driver/node-sql-driver.ts"

/** How often it has the driver look into the file. */
const inspectionMs = 1_000

/**
 * Notices what other connections to the file have committed: its version changes then, and only then.
 * Asks only while somebody listens, and does not keep the process alive. It also has the driver look whether the file is still its own.
 */
export class ChangePoll {
  readonly #driver: Pick<NodeSqlDriver, "version" | "inspectFile">
  readonly #intervalMs: number
  readonly #listeners = new Set<() => void>()
  #timer: ReturnType<typeof setInterval> | undefined
  #last: unknown
  #looks = 0

  constructor(driver: Pick<NodeSqlDriver, "version" | "inspectFile">, intervalMs: number) {
    this.#driver = driver
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
      if ((this.#looks++ * this.#intervalMs) % inspectionMs < this.#intervalMs) this.#driver.inspectFile()
      return this.#driver.version()
    } catch {
      // A hint may be lost. Whatever is wrong with the file, the next real call tells it; the driver tells the store of a file that is gone.
      return this.#last
    }
  }
}
