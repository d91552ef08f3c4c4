/** Functions on JSON text for the few places in which JSON.stringify and JSON.parse are too slow. */

const needsNoEscape = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/

/** The string in quotes, exactly as JSON.stringify writes it. */
export function quoted(text: string): string {
  return needsNoEscape.test(text) ? `"${text}"` : JSON.stringify(text)
}

const quote = 0x22
const backslash = 0x5c

/**
 * The index behind the value that begins at `start`, found without parsing the value. The text must be JSON without white space; for other text the
 * result is meaningless.
 */
export function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start)
  if (first === quote) return endOfString(text, start)
  if (isOpen(first)) return endOfNested(text, start)
  let at = start
  while (at < text.length && !endsLiteral(text.charCodeAt(at))) at++
  return at
}

function endOfString(text: string, start: number): number {
  let at = start
  do {
    at = text.indexOf('"', at + 1)
    if (at === -1) return text.length
  } while (isEscaped(text, at))
  return at + 1
}

function endOfNested(text: string, start: number): number {
  let depth = 0
  let at = start
  while (at < text.length) {
    const unit = text.charCodeAt(at)
    if (unit === quote) {
      at = endOfString(text, at)
      continue
    }
    at++
    if (isOpen(unit)) depth++
    else if (isClose(unit) && --depth === 0) return at
  }
  return at
}

/** Whether the quote at this index is escaped: an odd number of backslashes stands before it. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === backslash) before--
  return (at - before) % 2 === 0
}

/** Whether the unit is `{` or `[`, which differ in one bit. */
function isOpen(unit: number): boolean {
  return (unit | 0x20) === 0x7b
}

function isClose(unit: number): boolean {
  return (unit | 0x20) === 0x7d
}

function endsLiteral(unit: number): boolean {
  return unit === 0x2c || isClose(unit)
}
