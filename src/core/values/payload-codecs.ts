import { fromBase64, toBase64 } from "./base64.ts"
import type { Encoded } from "./value-codec.ts"
import { codecMissing, partsOf } from "./encoded-payload.ts"
import { messageOf } from "./error-text.ts"
import { PerdureError } from "../errors.ts"

/**
 * Encodes the texts of values before they reach a store, for example by encryption or compression, and decodes them. A codec is synchronous, because
 * nothing else of an instance may happen while its turn is encoded.
 */
export interface PayloadCodec {
  /** The codec's id, which is stored with each value, so that the right codec decodes it. It has letters, digits and . _ - */
  readonly id: string
  /** Encodes the UTF-8 text of a value. If it throws, the caller gets `CODEC_FAILED`, and nothing is stored. */
  encode(bytes: Uint8Array): Uint8Array
  /** Returns the bytes that `encode` was given. Throws if the codec has not made the bytes, or had another key. */
  decode(bytes: Uint8Array): Uint8Array
}

const wellFormedId = /^[A-Za-z0-9._-]{1,64}$/

/**
 * The codecs of an engine. The text of an encoded value is
 *
 *   !<id>:<base64>     the id of the codec, and its encoded bytes
 *
 * `undefined`, whose text is empty, is never encoded.
 */
export class PayloadCodecs {
  readonly #current: PayloadCodec | undefined
  readonly #byId = new Map<string, PayloadCodec>()

  /** `current` encodes; all codecs decode. */
  constructor(current: PayloadCodec | undefined, retired: readonly PayloadCodec[]) {
    this.#current = current
    for (const codec of current === undefined ? retired : [current, ...retired]) {
      check(codec)
      if (this.#byId.has(codec.id)) throw new PerdureError("BAD_OPTION", `two codecs have the id "${codec.id}"; give each key and method an id of its own`)
      this.#byId.set(codec.id, codec)
    }
  }

  encode(text: Encoded): Encoded {
    const codec = this.#current
    if (codec === undefined || text === "") return text
    return `!${codec.id}:${toBase64(attempt(codec.id, "encode", () => codec.encode(new TextEncoder().encode(text))))}`
  }

  decode(coded: Encoded): Encoded {
    const { id, base64 } = partsOf(coded)
    const codec = this.#byId.get(id)
    const bytes = fromBase64(base64)
    if (codec === undefined) throw codecMissing(id)
    if (bytes === undefined) throw new PerdureError("CODEC_FAILED", `a value of codec "${id}" is damaged: it is not base64`, { details: { codec: id } })
    return new TextDecoder().decode(attempt(id, "decode", () => codec.decode(bytes)))
  }

  /** Leaves the codecs out of JSON texts of journal rows. */
  toJSON(): undefined {
    return undefined
  }
}

function attempt(id: string, what: "encode" | "decode", run: () => Uint8Array): Uint8Array {
  let bytes: unknown
  try {
    bytes = run()
  } catch (cause) {
    throw failed(id, `could not ${what} a value: ${messageOf(cause)}`, cause)
  }
  if (bytes instanceof Uint8Array) return bytes
  throw failed(id, `gave something that is no Uint8Array to ${what} a value; codecs are synchronous`, undefined)
}

function failed(id: string, what: string, cause: unknown): PerdureError {
  return new PerdureError("CODEC_FAILED", `codec "${id}" ${what}`, { details: { codec: id }, cause })
}

/** Checks a codec: callers without types may pass anything. */
function check(codec: Partial<PayloadCodec> | null | undefined): asserts codec is PayloadCodec {
  const { id, encode, decode } = codec ?? {}
  if (typeof id !== "string" || !wellFormedId.test(id)) throw new PerdureError("BAD_OPTION", "a codec has an id of 1 to 64 letters, digits and . _ -")
  if (typeof encode !== "function" || typeof decode !== "function")
    throw new PerdureError("BAD_OPTION", `codec "${id}" needs two functions, encode and decode, from Uint8Array to Uint8Array`)
}
