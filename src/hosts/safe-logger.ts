import type { Logger } from "../ports/host.ts"

/** Wraps the user's logger, which may throw. Then the log line is lost, and the engine goes on. */
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
      // The failure cannot be logged either.
    }
  }
}
