import { isErrorObject } from "../../core/values/error-record.ts"
import { isWrapper, userFrames } from "../../core/values/user-stack.ts"
import { safeText } from "../../core/values/safe-text.ts"
import { shortValue } from "./value-text.ts"

const chainMax = 20

/**
 * The error of the user's code, for people: its name, its message, the frames of the user's code, and its cause. The errors of the engine that wrap it
 * follow. `debug` shows all frames, also of the wrapping errors.
 */
export function errorReport(error: unknown, { debug = false }: { readonly debug?: boolean } = {}): string {
  const wrappers: Error[] = []
  let thrown = error
  while (isWrapper(thrown) && wrappers.length < chainMax) {
    wrappers.unshift(thrown)
    thrown = thrown.cause
  }
  const blocks = [blockOf(thrown, debug)]
  const seen = new Set([thrown])
  for (let cause = causeOf(thrown); cause !== undefined && !seen.has(cause) && seen.size < chainMax; cause = causeOf(cause)) {
    seen.add(cause)
    blocks.push(`caused by ${blockOf(cause, debug)}`)
  }
  for (const wrapper of wrappers) blocks.push(`reported as ${blockOf(wrapper, debug)}`)
  return safeText(blocks.join("\n"))
}

function blockOf(error: unknown, debug: boolean): string {
  if (typeof error !== "object" || error === null || !isErrorObject(error)) return shortValue(error)
  const frames = debug ? framesOf(error) : userFrames(error)
  return [`${error.name}: ${error.message}`, ...frames].join("\n")
}

function framesOf({ stack, message }: Error): readonly string[] {
  const text = stack ?? ""
  return text
    .slice(Math.max(0, text.indexOf(message)) + message.length)
    .split("\n")
    .filter((line) => line.trim() !== "")
}

function causeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "cause" in error ? error.cause : undefined
}
