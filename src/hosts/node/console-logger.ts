import { isWrapper } from "../../core/user-stack.ts"
import type { Logger } from "../../ports/host.ts"

/** Warnings and errors to stderr; a library says nothing else unless asked to. */
export const consoleLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (message, data) => console.warn(`perdure: ${message}`, ...shown(message, data)),
  error: (message, data) => console.error(`perdure: ${message}`, ...shown(message, data)),
}

/** Of the data only an error is worth a line. One that only wraps another says nothing that the message and the line before it do not. */
function shown(message: string, data: Record<string, unknown> | undefined): unknown[] {
  const error = data?.["error"]
  return error === undefined || (isWrapper(error) && message.includes(error.message)) ? [] : [error]
}
