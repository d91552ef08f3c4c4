import { PerdureError } from "../core/errors.ts"
import { CommandError, exitCodes } from "./exit-code.ts"
import type { AsJson } from "./invocation.ts"
import { oneLine } from "./output/plain-text.ts"
import type { Style } from "./output/style.ts"
import { defaultTarget, type Target } from "./target/target.ts"

interface ReportOptions {
  /** Defined if the user asked for JSON. */
  readonly asJson: AsJson | undefined
  readonly debug: boolean
  readonly style: Style
}

/**
 * An error as the CLI prints it: one line with its code and advice. For a failed instance, the error of its code follows below. The stack of the CLI
 * itself is printed only with --debug.
 */
export function failureReport(error: unknown, { asJson, debug, style }: ReportOptions): string {
  const code = codeOf(error)
  const message = error instanceof Error ? error.message : String(error)
  const details = PerdureError.is(error) && Object.keys(error.details).length > 0 ? { details: error.details } : undefined
  const report = error instanceof CommandError ? error.report : undefined
  const stack = debug && error instanceof Error && report === undefined ? { stack: error.stack } : undefined
  if (asJson) return `${asJson({ error: { code, message, ...details, ...stack } })}\n`
  const line = `${style.red("error")} ${style.bold(code)}: ${oneLine(message)}\n${report === undefined ? "" : `${report}\n`}`
  return stack?.stack === undefined ? line : `${line}${stack.stack}\n`
}

/** Adds advice for the command line to an error of a client. */
export function explained(error: unknown, target: () => Target): unknown {
  if (PerdureError.is(error, "UNREACHABLE")) {
    const { from, ...chosen } = target()
    if (chosen.kind === "db" || error.details["isUnknown"] === true) return error
    if (from !== defaultTarget) {
      const message = `${error.message}; see that a server is there, or give another address (${from})`
      return new PerdureError(error.code, message, { details: error.details, cause: error })
    }
    const message = `there is no perdure.db here, and nothing answers at ${chosen.url}; give --db with the file that your program opens, or --url of a server`
    return new CommandError("NO_SERVER", exitCodes.unreachable, message, { cause: error })
  }
  if (PerdureError.is(error, "UNAUTHORIZED"))
    return new CommandError(error.code, exitCodes.unreachable, `${error.message}; set PERDURE_TOKEN, or give --token`, { cause: error })
  return PerdureError.is(error) ? inShellWords(error) : error
}

/** Replaces advice that is written for programs by the matching commands. */
function inShellWords(error: PerdureError): PerdureError {
  const message = error.message
    .replace(/\bifExists: "(\w+)"/, "--if-exists $1")
    .replace("allowUnknown: true", "--allow-unknown")
    .replace("; steps() lists", "; perdure show lists")
  return message === error.message ? error : new PerdureError(error.code, message, { details: error.details, cause: error })
}

function codeOf(error: unknown): string {
  if (PerdureError.is(error) || error instanceof CommandError) return error.code
  return error instanceof Error ? error.name : "Error"
}
