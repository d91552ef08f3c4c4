import type { Change } from "../core/journal/change.ts"

const encoder = new TextEncoder()

/**
 * Encodes pages of changes as Server-Sent Events. Followers at the same place get the same page, and so the same bytes: each page is encoded once,
 * and its bytes live as long as the page.
 */
export class EncodedChanges {
  readonly #encode: (change: Change) => string
  readonly #pages = new WeakMap<readonly Change[], Uint8Array>()

  constructor(encode: (change: Change) => string) {
    this.#encode = encode
  }

  bytesOf(page: readonly Change[]): Uint8Array {
    const known = this.#pages.get(page)
    if (known) return known
    const bytes = encoder.encode(page.map((change) => `id: ${change.cursor}\ndata: ${this.#encode(change)}\n\n`).join(""))
    this.#pages.set(page, bytes)
    return bytes
  }
}
