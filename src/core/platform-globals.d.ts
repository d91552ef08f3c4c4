/**
 * The globals that core may use beside those of the language. Every host has them: Node, workerd, browsers. Only core's own tsconfig reads this file;
 * other folders use the declarations of their platform.
 */

interface AbortSignal {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: "abort", listener: () => void): void
}

declare const AbortSignal: {
  readonly prototype: AbortSignal
  abort(reason?: unknown): AbortSignal
  any(signals: readonly AbortSignal[]): AbortSignal
}

interface AbortController {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}

declare const AbortController: {
  readonly prototype: AbortController
  new (): AbortController
}

declare class TextEncoder {
  encode(text: string): Uint8Array
}

declare class TextDecoder {
  decode(bytes: Uint8Array): string
}

/** Encodes bytes, given as characters up to U+00FF, as base64; `atob` decodes them. */
declare function btoa(binary: string): string
declare function atob(base64: string): string
