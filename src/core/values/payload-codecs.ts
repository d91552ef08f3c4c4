import { fromBase64, toBase64 } from "./base64.ts"
import type { Encoded } from "./value-codec.ts"
import { codecMissing, partsOf } from "./encoded-payload.ts"
import { messageOf } from "./error-text.ts"
import { PerdureError } from "../errors.ts"

/**
 * Encodes the texts of values before they reach a store, as by encryption or compression, and back. Synchronous: a turn is put together
 * between two looks at the journal, and nothing else of its instance may happen meanwhile.
 */
export interface PayloadCodec {
  /** Stored with each value: by it the codec that can decode it is found. Letters, digits and . _ - */
  readonly id: string
  /** Encodes the UTF-8 text of a value. What it throws is `CODEC_FAILED`, and nothing is stored. */
  encode(bytes: Uint8Array): Uint8Array
  /** Gives back what `encode` was given. Throws if the bytes are not of its making, or the key is another. */
  decode(bytes: Uint8Array): Uint8Array
}

const wellFormedId = /^[A-Za-z0-9._-]{1,64}$/

/**
 * The codecs of an engine. The text of a value that one has encoded is
 *
 *   !<id>:<base64>     the id of the codec, and what it made of the UTF-8 of the value's text
 *
 * `undefined`, whose text is empty, is never encoded.
 */
export class PayloadCodecs {
  readonly #current: PayloadCodec | undefined
  readonly #byId = new Map<string, PayloadCodec>()

  /** The current one encodes; all of them decode. */
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

  /** Rows of journals that are passed around have no use for it. */
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

/** Callers without types pass anything. */
function check(codec: Partial<PayloadCodec> | null | undefined): asserts codec is PayloadCodec {
  const { id, encode, decode } = codec ?? {}
  if (typeof id !== "string" || !wellFormedId.test(id)) throw new PerdureError("BAD_OPTION", "a codec has an id of 1 to 64 letters, digits and . _ -")
  if (typeof encode !== "function" || typeof decode !== "function")
    throw new PerdureError("BAD_OPTION", `codec "${id}" needs two functions, encode and decode, from Uint8Array to Uint8Array`)
}
