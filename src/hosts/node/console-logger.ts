import type { Logger } from "../../ports/host.ts"

/** Warnings and errors to stderr; a library says nothing else unless asked to. */
export const consoleLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (message, data) => console.warn(`perdure: ${message}`, ...shown(data)),
  error: (message, data) => console.error(`perdure: ${message}`, ...shown(data)),
}

/** Of the data only an error is worth a line. */
function shown(data: Record<string, unknown> | undefined): unknown[] {
  return data?.["error"] === undefined ? [] : [data["error"]]
}
