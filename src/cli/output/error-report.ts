import { isErrorObject } from "../../core/values/error-record.ts"
import { isWrapper, userFrames } from "../../core/values/user-stack.ts"
import { safeText } from "../../core/values/safe-text.ts"
import { shortValue } from "./value-text.ts"

const chainMax = 20

/**
 * What the user's code threw, for people: its name, its message, the frames of the user's code, and what caused it. Errors in which the engine wraps it
 * come after it. `debug`: all frames, and those of the wrappers as well.
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
