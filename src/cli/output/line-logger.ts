import { isErrorObject } from "../../core/values/error-record.ts"
import { isWrapper, userFrames } from "../../core/values/user-stack.ts"
import type { Logger } from "../../ports/host.ts"
import type { Io } from "../io.ts"
import type { Style } from "./style.ts"
import { safeLine, safeText } from "../../core/values/safe-text.ts"
import { oneLine } from "./plain-text.ts"

/** Logs the messages of an engine as lines on stderr. Below an error follow the lines of the user's files and the cause. */
export function lineLogger({ io, errorStyle }: { readonly io: Pick<Io, "stderr">; readonly errorStyle: Style }): Logger {
  const line = (mark: string, isBrief: boolean) => (message: string, data?: Record<string, unknown>) => {
    const error = data?.["error"]
    const cause = error instanceof Error && !message.includes(error.message) ? `: ${error.message}` : ""
    io.stderr.write(`${mark} ${safeLine(message + cause)}\n`)
    if (!isBrief) io.stderr.write(errorStyle.dim(safeText(framesOf(error))))
  }
  return {
    debug: () => undefined,
    info: line(errorStyle.dim("info"), true),
    warn: line(errorStyle.yellow("warning"), false),
    error: line(errorStyle.red("error"), false),
  }
}

const causesMax = 10

/** A wrapping error needs no frames: the frames of its cause were logged below the failed step. */
function framesOf(error: unknown): string {
  let text = ""
  let next = isWrapper(error) ? undefined : error
  for (let depth = 0; depth < causesMax && typeof next === "object" && next !== null && isErrorObject(next); depth++, next = next.cause) {
    if (depth > 0) text += `  caused by ${oneLine(`${next.name}: ${next.message}`)}\n`
    text += userFrames(next)
      .map((frame) => `${frame}\n`)
      .join("")
  }
  return text
}
