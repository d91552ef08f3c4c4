import { createReadStream, existsSync } from "node:fs"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { parseExports, type InstanceExport } from "../../engine/transfer/instance-export.ts"
import { CommandError, exitCodes } from "../exit-code.ts"

/** Reads the instances of exported files, one at a time. */
export async function* readExports(paths: readonly string[]): AsyncGenerator<InstanceExport> {
  for (const path of paths) {
    if (!existsSync(path)) throw new CommandError("NO_FILE", exitCodes.usage, `there is no file "${path}"`)
    yield* readExport(createReadStream(path))
  }
}

export function readExport(stream: Readable): AsyncGenerator<InstanceExport> {
  return parseExports(createInterface({ input: stream, crlfDelay: Infinity }))
}
