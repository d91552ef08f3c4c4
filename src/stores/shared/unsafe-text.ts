/**
 * SQLite stores text as UTF-8, which cannot hold lone surrogates, and drivers cut text at U+0000. Text with lone surrogates or U+0000, or with this
 * mark as its first character, is stored as the mark and a JSON string. All other text is stored unchanged.
 */
const mark = "\u0001"

export function toText(value: string): string {
  const odd = value.includes("\0") || value.startsWith(mark) || !(value as unknown as WellFormed).isWellFormed()
  return odd ? mark + JSON.stringify(value) : value
}

/** `isWellFormed` is of ES2024. Every Node that we support has it, and it is much faster than a search for surrogates. */
interface WellFormed {
  isWellFormed(): boolean
}

/** Whether the text is stored in another form. No text that is stored unchanged begins with such text. */
export function isOdd(value: string): boolean {
  return toText(value) !== value
}

export function fromText(stored: string): string {
  return stored.startsWith(mark) ? (JSON.parse(stored.slice(1)) as string) : stored
}

export function textOrNull(value: string | undefined): string | null {
  return value === undefined ? null : toText(value)
}
