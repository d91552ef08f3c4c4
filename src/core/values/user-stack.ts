import { PerdureError, type ErrorCode } from "../errors.ts"

/**
 * Finds the frames of the user's code in a stack trace. Frames of Perdure and of Node's internals do not help to find a fault in a workflow. In a bundle
 * with Perdure and the user's code in one file, the frames cannot be told apart, so all of them stay.
 */

/** Errors that the engine wraps around another error, their cause. Their own stack does not help. */
const wrapperCodes: ReadonlySet<ErrorCode> = new Set(["STEP_FAILED", "CHILD_FAILED"])

const frame = /^\s*at \S/

/** The frames of the stack without those of Perdure and of Node's internals. */
export function userFrames(error: unknown): readonly string[] {
  const { stack, message } = Object(error) as { readonly stack?: unknown; readonly message?: unknown }
  if (typeof stack !== "string" || isWrapper(error)) return []
  // Lines of the message may look like frames.
  const after = typeof message === "string" ? Math.max(0, stack.indexOf(message)) + message.length : 0
  return stack
    .slice(after)
    .split("\n")
    .filter((line) => frame.test(line) && !isOurs(line))
}

/** The stack as it is shown: its first lines, and the frames of the user's code. Undefined: the error has no frames. */
export function userStack(error: Error): string | undefined {
  const frames = userFrames(error)
  return frames.length === 0 ? undefined : [`${error.name}: ${error.message}`, ...frames].join("\n")
}

/** Whether the engine has wrapped this error around its cause. */
export function isWrapper(error: unknown): error is PerdureError {
  return PerdureError.is(error) && wrapperCodes.has(error.code) && error.cause !== undefined
}

const wrappersMax = 100

/** The error that the user's code has thrown, without the errors that the engine wraps around it. */
function thrownByUser(error: unknown): unknown {
  let thrown = error
  for (let depth = 0; depth < wrappersMax && isWrapper(thrown); depth++) thrown = thrown.cause
  return thrown
}

/** The place in the user's code at which the error was thrown, in the form of a frame: `charge (file:///app/pay.ts:4:9)`. */
export function thrownAt(error: unknown): string | undefined {
  return userFrames(thrownByUser(error))[0]?.trim().replace(/^at /, "")
}

const installed = /[\\/]node_modules[\\/]perdure[\\/]|\bnode:(?:internal[\\/]|async_hooks:)/

let isOfThisCopy = (_frame: string): boolean => false

/** Tells which frames are Perdure's own. A host calls this if it knows the folder of this copy of Perdure. */
export function recognise(isOwnFrame: (frame: string) => boolean): void {
  isOfThisCopy = isOwnFrame
}

function isOurs(line: string): boolean {
  return installed.test(line) || isOfThisCopy(line)
}
