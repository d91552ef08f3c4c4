/**
 * Random numbers that a replay repeats: sfc32, seeded from a string. Running instances rely on the sequence of their seed, so the algorithm must never
 * change. The numbers are not fit for secrets.
 */
export class SeededRandom {
  private a: number
  private b: number
  private c: number
  private counter = 1

  constructor(seed: string) {
    this.a = hash(seed, 0x9e3779b9)
    this.b = hash(seed, 0x243f6a88)
    this.c = hash(seed, 0xb7e15162)
    // Spreads a difference of one bit in the seed over the whole state.
    for (let i = 0; i < 12; i++) this.next32()
  }

  /** A number in [0, 1) with 53 random bits. */
  next(): number {
    return ((this.next32() >>> 5) * 0x4000000 + (this.next32() >>> 6)) / 0x20000000000000
  }

  /** A UUID of version 4. */
  uuid(): string {
    const hex = [0, 0, 0, 0].map(() => this.next32().toString(16).padStart(8, "0")).join("")
    const variant = "89ab".charAt(parseInt(hex.charAt(16), 16) & 3)
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
  }

  private next32(): number {
    const sum = (this.a + this.b + this.counter) | 0
    this.counter = (this.counter + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0
    return sum >>> 0
  }
}

/** MurmurHash3 over UTF-16 code units. */
function hash(text: string, seed: number): number {
  let h = seed
  for (let i = 0; i < text.length; i++) {
    let k = Math.imul(text.charCodeAt(i), 0xcc9e2d51)
    k = Math.imul((k << 15) | (k >>> 17), 0x1b873593)
    h ^= k
    h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0
  }
  h ^= text.length
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
