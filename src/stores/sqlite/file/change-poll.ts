import type { NodeSqlDriver } from "../driver/node-sql-driver.ts"

/** How often the driver inspects the content of the file. */
const inspectionMs = 1_000

/**
 * Polls for commits of other connections to the file, which change the file's `data_version`. It polls only while there are listeners, and
 * does not keep the process alive. About once a second it also makes the driver check that the file was not deleted or replaced.
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
      // A hint may be lost. The next real call reports what is wrong with the file; the driver itself tells the store if the file is gone.
      return this.#last
    }
  }
}
