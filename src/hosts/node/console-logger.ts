import { inspect } from "node:util"
import { safeLine, safeLines } from "../../core/values/safe-text.ts"
import { isWrapper } from "../../core/values/user-stack.ts"
import type { Logger } from "../../ports/host.ts"

/** Writes warnings and errors to stderr, and drops other messages. */
export const consoleLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (message, data) => console.warn(lineOf(message, data)),
  error: (message, data) => console.error(lineOf(message, data)),
}

/**
 * The text of a log line. Of the data, only an error is written, without errors that only wrap another error. The message and the error may contain stored
 * text, so they are escaped: no part of them begins a new line of the log or controls a terminal.
 */
function lineOf(message: string, data: Record<string, unknown> | undefined): string {
  const error = data?.["error"]
  const line = `perdure: ${safeLine(message)}`
  return error === undefined || (isWrapper(error) && message.includes(error.message)) ? line : `${line} ${safeLines(inspect(error))}`
}
