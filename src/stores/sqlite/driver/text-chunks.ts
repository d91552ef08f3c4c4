/** Cuts long text into UTF-8 parts that fit into a row each, and joins such parts. */

/** Text up to this length is stored in its row. In UTF-16 units, so at most three times as many bytes. */
export const inlineTextMax = 256 * 1024

const chunkBytesMax = 1024 * 1024

/** Returns at least one part, also for the empty text. */
export function toChunks(value: string): Uint8Array[] {
  const encoded = new TextEncoder().encode(value)
  const chunks: Uint8Array[] = []
  for (let start = 0; start === 0 || start < encoded.length; start += chunkBytesMax) chunks.push(encoded.subarray(start, start + chunkBytesMax))
  return chunks
}

export function fromChunks(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode()
}
