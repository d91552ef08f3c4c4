import { type Encoded, Payload } from "./value-codec.ts"
import { PerdureError } from "../errors.ts"
import { type Hidden, redacted } from "./redaction.ts"
import type { PayloadCodecs } from "./payload-codecs.ts"

/** The payload of a stored text. A text that a codec has encoded is decoded when its value is needed, and is stored again without another encoding. */
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

/** Whether the error is one of a codec that is missing or fails. Such an error is not a fault of the instance. */
export function isCodecTrouble(error: unknown): error is PerdureError {
  return PerdureError.is(error, "CODEC_MISSING") || PerdureError.is(error, "CODEC_FAILED")
}

/** Splits the text of an encoded value into the codec's id and the base64 of its bytes. */
export function partsOf(coded: Encoded): { readonly id: string; readonly base64: string } {
  const colon = coded.indexOf(":")
  return { id: coded.slice(1, colon), base64: coded.slice(colon + 1) }
}

export function codecMissing(id: string): PerdureError {
  return new PerdureError("CODEC_MISSING", `the value is encoded by codec "${id}", which this engine does not have; open it with that codec`, {
    details: { codec: id },
  })
}
