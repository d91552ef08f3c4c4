const alphabet = "0123456789abcdefghijklmnopqrstuv"

/** A random id, with 5 random bits in each character, for a call, an event or an instance without an id of the caller. */
export function randomId(length = 24): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length))
  return Array.from(bytes, (byte) => alphabet.charAt(byte & 31)).join("")
}
