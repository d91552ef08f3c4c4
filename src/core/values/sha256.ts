/** SHA-256 (FIPS 180-4) of a text's UTF-8 bytes, in hex. WebCrypto has only an asynchronous one; this one is fast enough for short texts. */
export function sha256(text: string): string {
  const blocks = padded(new TextEncoder().encode(text))
  const state = Int32Array.from(initial)
  const schedule = new Int32Array(64)
  for (let offset = 0; offset < blocks.byteLength; offset += 64) {
    for (let i = 0; i < 16; i++) schedule[i] = blocks.getUint32(offset + 4 * i)
    compress(state, schedule)
  }
  let hex = ""
  for (const word of state) hex += (word >>> 0).toString(16).padStart(8, "0")
  return hex
}

/** Appends a one bit, zeros, and the length in bits, up to a multiple of 64 bytes. */
function padded(bytes: Uint8Array): DataView {
  const blocks = new Uint8Array((((bytes.length + 8) >>> 6) + 1) << 6)
  blocks.set(bytes)
  blocks[bytes.length] = 0x80
  const view = new DataView(blocks.buffer)
  view.setUint32(blocks.length - 8, Math.floor(bytes.length / 0x20000000))
  view.setUint32(blocks.length - 4, bytes.length << 3)
  return view
}

function compress(state: Int32Array, w: Int32Array): void {
  for (let i = 16; i < 64; i++) {
    const w15 = at(w, i - 15)
    const w2 = at(w, i - 2)
    const s0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >>> 3)
    const s1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >>> 10)
    w[i] = at(w, i - 16) + s0 + at(w, i - 7) + s1
  }
  let a = at(state, 0)
  let b = at(state, 1)
  let c = at(state, 2)
  let d = at(state, 3)
  let e = at(state, 4)
  let f = at(state, 5)
  let g = at(state, 6)
  let h = at(state, 7)
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + at(constants, i) + at(w, i)) | 0
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  state.set([a + at(state, 0), b + at(state, 1), c + at(state, 2), d + at(state, 3), e + at(state, 4), f + at(state, 5), g + at(state, 6), h + at(state, 7)])
}

function at(words: Int32Array, index: number): number {
  return words[index] as number
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

/** The constants: the fractional parts of the square roots of the first 8 primes, and of the cube roots of the first 64. */
const primes = firstPrimes(64)
const initial = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)))
const constants = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)))

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 0x100000000) | 0
}

function firstPrimes(count: number): number[] {
  const found: number[] = []
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n)
  return found
}
