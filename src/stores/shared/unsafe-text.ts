/**
 * SQLite holds text as UTF-8, which has no place for lone surrogates, and drivers cut text at U+0000. Text with either, or
 * that begins with the mark itself, is stored as the mark and a JSON string; all other text, which is nearly all, as it is.
 */
const mark = "\u0001"

export function toText(value: string): string {
  const odd = value.includes("\0") || value.startsWith(mark) || !(value as unknown as WellFormed).isWellFormed()
  return odd ? mark + JSON.stringify(value) : value
}

/** Of ES2024: in every Node that we run on, and much faster than a look for surrogates. */
interface WellFormed {
  isWellFormed(): boolean
}

/** Text that is stored in another form than it has. No id that is stored as it is begins with such text. */
export function isOdd(value: string): boolean {
  return toText(value) !== value
}

export function fromText(stored: string): string {
  return stored.startsWith(mark) ? (JSON.parse(stored.slice(1)) as string) : stored
}

export function textOrNull(value: string | undefined): string | null {
  return value === undefined ? null : toText(value)
}
