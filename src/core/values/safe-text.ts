/**
 * Text for terminals and logs. What users store may hold anything, also the sequences that move the cursor or rewrite the screen: no control
 * character, and no mark that turns the direction of the text, reaches a terminal.
 */

// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g
const lineBreaks = /[\t\n]/g

/** Control characters as `\u001b` and the like. Line breaks and tabs stay. In JSON it escapes only what stands inside strings. */
export function safeText(text: string): string {
  return text.replace(controls, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

/** Line breaks and tabs are escaped as well: the text cannot begin a line of a log. */
export function safeLine(text: string): string {
  return safeText(text).replace(lineBreaks, (character) => (character === "\n" ? "\\n" : "\\t"))
}

/** Text of several lines, such as a stack: each line after the first is indented, so that none of them looks like a line of the log. */
export function safeLines(text: string): string {
  return safeText(text).replace(/\n(?! {4})/g, "\n    ")
}
