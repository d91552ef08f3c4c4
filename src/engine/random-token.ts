import type { Host } from "../ports/host.ts"

const alphabet = "0123456789abcdefghijklmnopqrstuv"

/** A random text. Each character has 5 random bits. */
export function randomToken(host: Host, length = 24): string {
  const bytes = host.randomBytes(length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = alphabet.charCodeAt(bytes[at]! & 31)
  return String.fromCharCode.apply(undefined, bytes as unknown as number[])
}
