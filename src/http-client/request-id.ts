const alphabet = "0123456789abcdefghijklmnopqrstuv"

/** Of 5 random bits a character: names a call, an event or an instance that nobody named. */
export function randomId(length = 24): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length))
  return Array.from(bytes, (byte) => alphabet.charAt(byte & 31)).join("")
}
