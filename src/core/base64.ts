/** Bytes <-> base64 text: core knows no platform that could do it. */

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
const codes = Uint8Array.from(alphabet, (character) => character.charCodeAt(0))
const padding = 0x3d
const values = new Uint8Array(128).fill(255)
codes.forEach((code, value) => (values[code] = value))

export function toBase64(bytes: Uint8Array): string {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4)
  for (let from = 0, to = 0; from < bytes.length; from += 3) {
    const group = (bytes[from]! << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0)
    text[to++] = codes[group >> 18]!
    text[to++] = codes[(group >> 12) & 63]!
    text[to++] = from + 1 < bytes.length ? codes[(group >> 6) & 63]! : padding
    text[to++] = from + 2 < bytes.length ? codes[group & 63]! : padding
  }
  return new TextDecoder().decode(text)
}

/** Undefined: it is not base64. */
export function fromBase64(base64: string): Uint8Array | undefined {
  const text = new TextEncoder().encode(base64)
  const length = base64.endsWith("==") ? text.length - 2 : base64.endsWith("=") ? text.length - 1 : text.length
  if (text.length % 4 !== 0) return undefined
  const bytes = new Uint8Array(Math.floor((length * 3) / 4))
  for (let from = 0, to = 0; from < text.length; from += 4) {
    let group = 0
    for (let place = 0; place < 4; place++) {
      const value = from + place < length ? (values[text[from + place]!] ?? 255) : 0
      if (value === 255) return undefined
      group = (group << 6) | value
    }
    for (let shift = 16; shift >= 0 && to < bytes.length; shift -= 8) bytes[to++] = (group >> shift) & 255
  }
  return bytes
}
