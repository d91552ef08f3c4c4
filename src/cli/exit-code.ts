import { PerdureError, type ErrorCode } from "../core/errors.ts"
import { storeTroubles } from "../core/values/transient-error.ts"

/** What the CLI's exit codes mean; docs/guides/cli.md has the same table. */
export const exitCodes = {
  ok: 0,
  /** What was asked for failed, or the answer is no. */
  failed: 1,
  /** The command line, or a value on it, is wrong. */
  usage: 2,
  /** There is no such instance, schedule, workflow, step … */
  notFound: 3,
  /** The database or the server cannot be used, or does not let us in. */
  unreachable: 4,
  /** The time to wait was up, and the instance has no result yet. */
  notYet: 5,
  /** The instance is stalled: a person has to look at it. */
  stalled: 6,
  interrupted: 130,
  terminated: 143,
} as const

const byCode = new Map<ErrorCode, number>([
  ...kind(
    exitCodes.usage,
    "BAD_DURATION",
    "BAD_EXPORT",
    "BAD_ID",
    "BAD_JSON",
    "BAD_NAME",
    "BAD_OPTION",
    "BAD_REQUEST",
    "BAD_SCHEDULE",
    "INVALID_EVENT",
    "INVALID_INPUT",
    "PAYLOAD_TOO_LARGE",
    "UNKNOWN_EVENT",
    "UNSERIALIZABLE",
  ),
  ...kind(exitCodes.notFound, "NOT_FOUND", "SCHEDULE_NOT_FOUND", "UNKNOWN_LIMIT", "UNKNOWN_QUERY", "UNKNOWN_STEP", "UNKNOWN_UPDATE", "UNKNOWN_WORKFLOW"),
  ...kind(
    exitCodes.unreachable,
    ...storeTroubles,
    "DATABASE_TOO_NEW",
    "ENGINE_CLOSED",
    "FORBIDDEN",
    "METHOD_NOT_ALLOWED",
    "NO_WORKER",
    "UNAUTHORIZED",
    "UNKNOWN_ROUTE",
    "UNREACHABLE",
  ),
  ...kind(exitCodes.notYet, "NOT_STARTED", "RESULT_TIMEOUT"),
  ...kind(exitCodes.stalled, "STALLED"),
])

function kind(exitCode: number, ...codes: readonly ErrorCode[]): [ErrorCode, number][] {
  return codes.map((code) => [code, exitCode])
}

/** What the CLI itself has to say; `code` stands beside the codes of `PerdureError` in what is printed. */
export class CommandError extends Error {
  override readonly name = "CommandError"
  readonly code: string
  readonly exitCode: number
  /** What the code of a workflow threw, as it is printed below the message, in the place of the CLI's own stack. */
  readonly report: string | undefined

  constructor(code: string, exitCode: number, message: string, { report, ...options }: { readonly cause?: unknown; readonly report?: string } = {}) {
    super(message, options)
    this.code = code
    this.exitCode = exitCode
    this.report = report
  }
}

/** The command line is wrong. */
export function usageError(message: string): CommandError {
  return new CommandError("USAGE", exitCodes.usage, message)
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode
  return (PerdureError.is(error) ? byCode.get(error.code) : undefined) ?? exitCodes.failed
}
