import { safeText } from "../../core/values/safe-text.ts"

/** The text without line breaks and control characters. */
export function oneLine(text: string): string {
  return safeText(text.replace(/\s*\r?\n\s*/g, " ").replace(/\t/g, " "))
}

let segmenter: Intl.Segmenter | undefined

/** The segmenter is created on first use, because its creation takes longer than most output. */
function graphemes(text: string): Iterable<{ readonly segment: string }> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" })
  return segmenter.segment(text)
}

// oxlint-disable-next-line no-control-regex
const narrow = /^[\u0020-\u007e]*$/
const wide =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u
// oxlint-disable-next-line no-control-regex
const escapes = /\u001b\[[0-9;]*m/g

/** Columns of the text in a terminal. Colours take no column. */
export function textWidth(text: string): number {
  const bare = text.replace(escapes, "")
  if (narrow.test(bare)) return bare.length
  let width = 0
  for (const { segment } of graphemes(bare)) width += wide.test(segment) ? 2 : 1
  return width
}

/** Cuts a text without colours to at most `width` columns. The last column of a cut text is an ellipsis. */
export function truncate(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  if (width <= 0) return ""
  let kept = ""
  let used = 1
  for (const { segment } of graphemes(text)) {
    used += textWidth(segment)
    if (used > width) break
    kept += segment
  }
  return `${kept}…`
}

/** Fills a text with blanks up to `width` columns. */
export function pad(text: string, width: number, align: "left" | "right" = "left"): string {
  const blanks = " ".repeat(Math.max(0, width - textWidth(text)))
  return align === "left" ? text + blanks : blanks + text
}
