import { PerdureError, type ErrorCode } from "../core/errors.ts"
import { storeTroubles } from "../core/values/transient-error.ts"

/** The exit codes of the CLI; docs/guides/cli.md has the same table. */
export const exitCodes = {
  ok: 0,
  /** The command failed, or its answer is no. */
  failed: 1,
  /** The command line, or a value on it, is wrong. */
  usage: 2,
  /** There is no such instance, schedule, workflow, step … */
  notFound: 3,
  /** The database or the server cannot be used, or refuses access. */
  unreachable: 4,
  /** The time to wait is over, and the instance has no result yet. */
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

/** An error of the CLI itself. Its `code` is printed like the codes of `PerdureError`. */
export class CommandError extends Error {
  override readonly name = "CommandError"
  readonly code: string
  readonly exitCode: number
  /** The error that the code of a workflow threw. It is printed below the message, instead of the stack of the CLI. */
  readonly report: string | undefined

  constructor(code: string, exitCode: number, message: string, { report, ...options }: { readonly cause?: unknown; readonly report?: string } = {}) {
    super(message, options)
    this.code = code
    this.exitCode = exitCode
    this.report = report
  }
}

/** An error for a wrong command line. */
export function usageError(message: string): CommandError {
  return new CommandError("USAGE", exitCodes.usage, message)
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode
  return (PerdureError.is(error) ? byCode.get(error.code) : undefined) ?? exitCodes.failed
}
