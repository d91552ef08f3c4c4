import { WorkflowFatalError } from "./workflow-errors.ts"

/** The recorded form of a step's `ReadableStream`: its bytes. Workflow code gets a new stream of them, live and on replay alike. */
interface StoredStream {
  readonly [mark]: Uint8Array
}

const mark = "perdure:stream"
const pieceBytes = 256 * 1024
const chunkBytesMax = 16 * 1024 * 1024

export function isStream(value: unknown): value is ReadableStream<unknown> {
  return typeof value === "object" && value !== null && typeof (value as Partial<ReadableStream>).getReader === "function"
}

/** Reads the whole stream. Throws a `TypeError` for a stream that is locked, and a `WorkflowFatalError` for one that gives something else than bytes. */
export async function storeStream(step: string, stream: ReadableStream<unknown>): Promise<StoredStream> {
  const fail = (why: string) => new InvalidStreamError(step, why)
  if (stream.locked) throw new TypeError("The ReadableStream has been locked to a reader.")
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream as unknown as AsyncIterable<unknown>) {
    const bytes = bytesOf(chunk)
    if (bytes === undefined) throw fail("A chunk of the stream is not made of bytes.")
    if (bytes.byteLength > chunkBytesMax) throw fail(`A chunk of the stream is larger than ${chunkBytesMax} bytes.`)
    // The producer may use its buffer again.
    chunks.push(bytes.slice())
    length += bytes.byteLength
  }
  const whole = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return { [mark]: whole }
}

/** A stream where the step returned one, else the value itself. */
export function revivedStream(value: unknown): unknown {
  if (!isStoredStream(value)) return value
  const bytes = value[mark]
  let at = 0
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.byteLength) return controller.close()
      controller.enqueue(bytes.slice(at, at + pieceBytes))
      at += pieceBytes
    },
  })
}

function isStoredStream(value: unknown): value is StoredStream {
  return typeof value === "object" && value !== null && (value as Partial<StoredStream>)[mark] instanceof Uint8Array
}

function bytesOf(chunk: unknown): Uint8Array | undefined {
  if (typeof chunk === "string") return new TextEncoder().encode(chunk)
  if (chunk instanceof Uint8Array) return chunk
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk)
  return ArrayBuffer.isView(chunk) ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength) : undefined
}

/** Ends the whole instance: workflow code cannot catch it. */
export class InvalidStreamError extends WorkflowFatalError {
  readonly why: string

  constructor(step: string, why: string) {
    super(`The execution of the Workflow instance was terminated, as the step "${step}" returned an invalid ReadableStream output. ${why}`)
    this.why = why
  }
}
