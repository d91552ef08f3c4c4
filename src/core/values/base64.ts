/** Encodes bytes as base64 text, and decodes them. */

const chunkLength = 0x8000

/** A method that newer platforms have. */
type Bytes = Uint8Array & { toBase64?(): string }

export function toBase64(bytes: Bytes): string {
  if (bytes.toBase64) return bytes.toBase64()
  let binary = ""
  for (let from = 0; from < bytes.length; from += chunkLength) binary += String.fromCharCode(...bytes.subarray(from, from + chunkLength))
  return btoa(binary)
}

/** Decodes base64. Undefined: the text is not base64. */
export function fromBase64(base64: string): Uint8Array<ArrayBuffer> | undefined {
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return undefined
  const binary = atob(base64)
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}
