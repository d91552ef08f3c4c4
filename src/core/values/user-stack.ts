import { PerdureError, type ErrorCode } from "../errors.ts"

/**
 * Which frames of a stack trace are of the user's code. Frames of Perdure and of Node's own insides say nothing about a fault in a workflow. In a bundle
 * that holds Perdure and the user's code in one file they cannot be told apart: there all frames stay.
 */

/** An error that the engine makes in the place of another, which is its cause: where the engine made it says nothing. */
const wrapperCodes: ReadonlySet<ErrorCode> = new Set(["STEP_FAILED", "CHILD_FAILED"])

const frame = /^\s*at \S/

/** The frames of the stack, without those of Perdure and of Node's insides. */
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

/** The stack as it is shown: its first lines, and the frames of the user's code. Undefined where no frame is. */
export function userStack(error: Error): string | undefined {
  const frames = userFrames(error)
  return frames.length === 0 ? undefined : [`${error.name}: ${error.message}`, ...frames].join("\n")
}

/** The engine made it in the place of its cause. */
export function isWrapper(error: unknown): error is PerdureError {
  return PerdureError.is(error) && wrapperCodes.has(error.code) && error.cause !== undefined
}

const wrappersMax = 100

/** What the user's code threw: without the errors in which the engine wraps it. */
function thrownByUser(error: unknown): unknown {
  let thrown = error
  for (let depth = 0; depth < wrappersMax && isWrapper(thrown); depth++) thrown = thrown.cause
  return thrown
}

/** The line of the user's code at which it was thrown, as a frame says it: `charge (file:///app/pay.ts:4:9)`. */
export function thrownAt(error: unknown): string | undefined {
  return userFrames(thrownByUser(error))[0]?.trim().replace(/^at /, "")
}

const installed = /[\\/]node_modules[\\/]perdure[\\/]|\bnode:(?:internal[\\/]|async_hooks:)/

let isOfThisCopy = (_frame: string): boolean => false

/** Where the host knows the folder of this copy of Perdure, also one that is no installed package. */
export function recognise(isOwnFrame: (frame: string) => boolean): void {
  isOfThisCopy = isOwnFrame
}

function isOurs(line: string): boolean {
  return installed.test(line) || isOfThisCopy(line)
}
