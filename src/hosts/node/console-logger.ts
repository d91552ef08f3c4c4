import { inspect } from "node:util"
import { safeLine, safeLines } from "../../core/values/safe-text.ts"
import { isWrapper } from "../../core/values/user-stack.ts"
import type { Logger } from "../../ports/host.ts"

/** Warnings and errors to stderr; a library says nothing else unless asked to. */
export const consoleLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (message, data) => console.warn(lineOf(message, data)),
  error: (message, data) => console.error(lineOf(message, data)),
}

/**
 * Of the data only an error is worth lines. An error that only wraps another says nothing that the message and the log line before it do not.
 * The message, and what was thrown, may hold stored text: no part of it begins a line of the log, or controls a terminal.
 */
function lineOf(message: string, data: Record<string, unknown> | undefined): string {
  const error = data?.["error"]
  const line = `perdure: ${safeLine(message)}`
  return error === undefined || (isWrapper(error) && message.includes(error.message)) ? line : `${line} ${safeLines(inspect(error))}`
}
