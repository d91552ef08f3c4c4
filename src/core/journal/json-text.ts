/** JSON text by hand, where that beats JSON.stringify and JSON.parse. */

const needsNoEscape = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/

/** A string as JSON.stringify writes it. */
export function quoted(text: string): string {
  return needsNoEscape.test(text) ? `"${text}"` : JSON.stringify(text)
}

const quote = 0x22
const backslash = 0x5c

/**
 * The index after the value that begins at `start`, found without parsing it. The text is taken to be JSON without white space:
 * in other text the answer means nothing.
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

/** An odd number of backslashes stands before it. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === backslash) before--
  return (at - before) % 2 === 0
}

/** `{` or `[`: they differ in one bit, as do their closing ones. */
function isOpen(unit: number): boolean {
  return (unit | 0x20) === 0x7b
}

function isClose(unit: number): boolean {
  return (unit | 0x20) === 0x7d
}

function endsLiteral(unit: number): boolean {
  return unit === 0x2c || isClose(unit)
}
