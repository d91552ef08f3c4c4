import type { Logger } from "../ports/host.ts"

/** Drops every message. */
export const silentLogger: Logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
