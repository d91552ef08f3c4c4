/**
 * SQLite holds text as UTF-8, which has no place for lone surrogates, and drivers cut text at U+0000. Text with either, or
 * that begins with the mark itself, is stored as the mark and a JSON string; all other text, which is nearly all, as it is.
 */
const mark = "\u0001"
const loneSurrogate = /\p{Surrogate}/u

export function toText(value: string): string {
  const odd = value.includes("\0") || value.startsWith(mark) || loneSurrogate.test(value)
  return odd ? mark + JSON.stringify(value) : value
}

export function fromText(stored: string): string {
  return stored.startsWith(mark) ? (JSON.parse(stored.slice(1)) as string) : stored
}
