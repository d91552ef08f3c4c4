import { type Encoded, Payload } from "./value-codec.ts"
import { PerdureError } from "../errors.ts"
import { type Hidden, redacted } from "./redaction.ts"
import type { PayloadCodecs } from "./payload-codecs.ts"

/** A value as it is stored, which may be encoded by a codec: then it is decoded when somebody wants it, and written again as it is. */
export function storedPayload(stored: Encoded, codecs: PayloadCodecs | undefined, isSensitive = false): Payload {
  return isCoded(stored) ? new CodedPayload(stored, codecs, isSensitive) : Payload.of(stored, isSensitive)
}

export function isCoded(stored: Encoded): boolean {
  return stored.charCodeAt(0) === 0x21
}

class CodedPayload extends Payload {
  readonly #codecs: PayloadCodecs | undefined

  constructor(coded: Encoded, codecs: PayloadCodecs | undefined, isSensitive: boolean) {
    super(coded, isSensitive)
    this.#codecs = codecs
  }

  override get coded(): Encoded {
    return this.own
  }

  override get text(): Encoded {
    if (this.#codecs === undefined) throw codecMissing(partsOf(this.own).id)
    return this.#codecs.decode(this.own)
  }

  override asSensitive(): Payload {
    return new CodedPayload(this.own, this.#codecs, true)
  }

  override shown(): unknown {
    if (this.isSensitive) return redacted
    try {
      return this.decode()
    } catch (error) {
      if (!isCodecTrouble(error)) throw error
      const hidden: Hidden = { $perdure: "encoded", codec: partsOf(this.own).id }
      return hidden
    }
  }
}

/** A codec is not there, or does not do what it should: no fault of the instance. */
export function isCodecTrouble(error: unknown): error is PerdureError {
  return PerdureError.is(error, "CODEC_MISSING") || PerdureError.is(error, "CODEC_FAILED")
}

/** Of the text of a coded value. */
export function partsOf(coded: Encoded): { readonly id: string; readonly base64: string } {
  const colon = coded.indexOf(":")
  return { id: coded.slice(1, colon), base64: coded.slice(colon + 1) }
}

export function codecMissing(id: string): PerdureError {
  return new PerdureError("CODEC_MISSING", `the value is encoded by codec "${id}", which this engine does not have; open it with that codec`, {
    details: { codec: id },
  })
}
