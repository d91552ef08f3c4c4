import type { Logger } from "../../ports/host.ts"
import type { Io } from "../io.ts"
import type { Style } from "./style.ts"
import { safeText } from "./plain-text.ts"

/** What an engine has to say, as lines on stderr. */
export function lineLogger({ io, errorStyle }: { readonly io: Pick<Io, "stderr">; readonly errorStyle: Style }): Logger {
  const line = (mark: string) => (message: string, data?: Record<string, unknown>) => {
    const error = data?.["error"]
    const cause = error instanceof Error ? `: ${error.message}` : ""
    io.stderr.write(`${mark} ${safeText(message + cause)}\n`)
  }
  return { debug: () => undefined, info: line(errorStyle.dim("info")), warn: line(errorStyle.yellow("warning")), error: line(errorStyle.red("error")) }
}
