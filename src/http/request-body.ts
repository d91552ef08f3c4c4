import { PerdureError } from "../core/errors.ts"
import { BodyDeadline } from "./body-deadline.ts"
import { decodeRich, isRichType, parseJson } from "./wire-format.ts"

export interface BodyLimits {
  readonly bytesMax: number
  readonly timeoutMs: number
}

/** The value in the body of a request; undefined: the request has no body. */
export async function readBody(request: Request, limits: BodyLimits): Promise<unknown> {
  const text = await readText(request, limits)
  if (text === "") return undefined
  return isRichType(request.headers.get("content-type")) ? decodeRich(text) : parseJson(text)
}

/** A body up to this length is read as a whole, which is faster than in parts. */
const shortBytesMax = 64 * 1024

async function readText(request: Request, { bytesMax, timeoutMs }: BodyLimits): Promise<string> {
  const length = request.headers.get("content-length")
  if (length !== null && Number(length) > bytesMax) throw tooLarge(bytesMax)
  const deadline = new BodyDeadline(timeoutMs)
  try {
    // The header says that the body is short, and the server cuts off a longer body.
    if (length !== null && Number(length) <= shortBytesMax) return await Promise.race([request.text(), deadline.expired])
    return request.body === null ? "" : await readBounded(request.body, bytesMax, deadline)
  } finally {
    deadline.clear()
  }
}

async function readBounded(body: ReadableStream<Uint8Array>, bytesMax: number, deadline: BodyDeadline): Promise<string> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  const texts: string[] = []
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await Promise.race([deadline.expired, reader.read()])
      if (done) return texts.join("") + decoder.decode()
      deadline.arrived(value.byteLength)
      bytes += value.byteLength
      if (bytes > bytesMax) throw tooLarge(bytesMax)
      texts.push(decoder.decode(value, { stream: true }))
    }
  } catch (error) {
    void reader.cancel().catch(() => undefined)
    throw error
  }
}

function tooLarge(bytesMax: number): PerdureError {
  return new PerdureError("PAYLOAD_TOO_LARGE", `the body has more than ${bytesMax} bytes; store it elsewhere and pass a reference, or raise bodyBytesMax`, {
    details: { bytesMax },
  })
}
