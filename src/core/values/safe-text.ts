/**
 * Makes text safe for terminals and logs. Stored values may contain sequences that move the cursor or rewrite the screen. So control characters, and
 * marks that turn the direction of text, are escaped.
 */

// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g
const lineBreaks = /[\t\n]/g

/** Escapes control characters as `\u001b`, but no line breaks and tabs. In JSON text the escapes are inside strings, so it stays JSON. */
export function safeText(text: string): string {
  return text.replace(controls, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

/** Escapes line breaks and tabs as well, so that the text cannot begin a new line of a log. */
export function safeLine(text: string): string {
  return safeText(text).replace(lineBreaks, (character) => (character === "\n" ? "\\n" : "\\t"))
}

/** Indents each line after the first, so that no line of a stack looks like a line of the log. */
export function safeLines(text: string): string {
  return safeText(text).replace(/\n(?! {4})/g, "\n    ")
}
