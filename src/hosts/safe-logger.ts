import type { Logger } from "../ports/host.ts"

/** The user's logger, which may throw: what is lost then is a line, and not the work that was about to be told. */
export class SafeLogger implements Logger {
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  debug(message: string, data?: Record<string, unknown>): void {
    this.#write("debug", message, data)
  }

  info(message: string, data?: Record<string, unknown>): void {
    this.#write("info", message, data)
  }

  warn(message: string, data?: Record<string, unknown>): void {
    this.#write("warn", message, data)
  }

  error(message: string, data?: Record<string, unknown>): void {
    this.#write("error", message, data)
  }

  #write(level: keyof Logger, message: string, data: Record<string, unknown> | undefined): void {
    try {
      if (data === undefined) this.#log[level](message)
      else this.#log[level](message, data)
    } catch {
      // There is nobody left to tell.
    }
  }
}
