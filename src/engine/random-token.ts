import type { Host } from "../ports/host.ts"

const alphabet = "0123456789abcdefghijklmnopqrstuv"

/** Characters of 5 random bits each. */
export function randomToken(host: Host, length = 24): string {
  const bytes = host.randomBytes(length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = alphabet.charCodeAt(bytes[at]! & 31)
  return String.fromCharCode.apply(undefined, bytes as unknown as number[])
}
