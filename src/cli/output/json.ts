import { safeText } from "../../core/values/safe-text.ts"
import { encodeDocument, encodePlain } from "../../http/plain-body.ts"
import { isDeeper } from "../../http/wire-format.ts"

export interface JsonOptions {
  /** Blanks for each level. Without it the text is one line. */
  readonly indent?: number
  /** The document is a value of the user, such as the answer to a query. A value that is too large throws an error. */
  readonly isValue?: boolean
}

/** A value as plain JSON, in the form of the HTTP API. Control characters inside strings are escaped, because the text may go to a terminal. */
export function asJson(value: unknown, { indent, isValue = false }: JsonOptions = {}): string {
  const text = safeText(isValue ? encodePlain(value) : encodeDocument(value))
  return indent === undefined || text.length > indentedLengthMax || isDeeper(text, indentedDepthMax)
    ? text
    : safeText(JSON.stringify(JSON.parse(text), undefined, indent))
}

/** A longer or deeper document stays on one line, because its indentation could be many times as long as the text. */
const indentedLengthMax = 8 * 1024 * 1024
const indentedDepthMax = 32
