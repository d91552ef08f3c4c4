import { safeText } from "../../core/values/safe-text.ts"
import { encodeDocument, encodePlain } from "../../http/plain-body.ts"
import { isDeeper } from "../../http/wire-format.ts"

export interface JsonOptions {
  /** Blanks for each level; none: all on one line. */
  readonly indent?: number
  /** The whole is a value of a user, such as the answer to a query: an error is thrown if it is too large. */
  readonly isValue?: boolean
}

/** A value as plain JSON, the same as the HTTP API gives it, but that control characters inside strings are escaped: the text may go to a terminal. */
export function asJson(value: unknown, { indent, isValue = false }: JsonOptions = {}): string {
  const text = safeText(isValue ? encodePlain(value) : encodeDocument(value))
  return indent === undefined || text.length > indentedLengthMax || isDeeper(text, indentedDepthMax)
    ? text
    : safeText(JSON.stringify(JSON.parse(text), undefined, indent))
}

/** What is longer or deeper stays on one line: the blanks before each line could be many times as long as the text. */
const indentedLengthMax = 8 * 1024 * 1024
const indentedDepthMax = 32
