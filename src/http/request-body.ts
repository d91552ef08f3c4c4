import { PerdureError } from "../core/errors.ts"
import { decodeRich, isRichType, parseJson } from "./wire.ts"

/** The value in the body of a request; undefined where there is none. */
export async function readBody(request: Request, bytesMax: number): Promise<unknown> {
  const text = await readText(request, bytesMax)
  if (text === "") return undefined
  return isRichType(request.headers.get("content-type")) ? decodeRich(text) : parseJson(text)
}

async function readText(request: Request, bytesMax: number): Promise<string> {
  const length = request.headers.get("content-length")
  if (length !== null && Number(length) > bytesMax) throw tooLarge(bytesMax)
  // As long as it says, which is not too long: the server cuts off what is beyond.
  if (length !== null) return request.text()
  if (request.body === null) return ""
  return readBounded(request.body, bytesMax)
}

async function readBounded(body: ReadableStream<Uint8Array>, bytesMax: number): Promise<string> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let text = ""
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.byteLength
    if (bytes > bytesMax) {
      await reader.cancel().catch(() => undefined)
      throw tooLarge(bytesMax)
    }
    text += decoder.decode(value, { stream: true })
  }
}

function tooLarge(bytesMax: number): PerdureError {
  return new PerdureError("PAYLOAD_TOO_LARGE", `the body has more than ${bytesMax} bytes; store it elsewhere and pass a reference, or raise bodyBytesMax`, {
    details: { bytesMax },
  })
}
