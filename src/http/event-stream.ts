import type { Change } from "../core/journal/change.ts"
import { PerdureError } from "../core/errors.ts"
import type { PagedChanges } from "../engine/changes/change-sequence.ts"
import type { ChangeIterator } from "../client-api/client-api.ts"
import type { EncodedChanges } from "./encoded-changes.ts"

/**
 * Sends changes as Server-Sent Events. The stream reads changes only as fast as the caller takes them, and ends when the caller goes away. While
 * nothing happens, heartbeats without data show that the stream is alive, and carry the current cursor. A caller that connects again with the last
 * cursor misses nothing, and skips changes that were not for it. A caller that does not read is cut off after some heartbeats.
 */
export interface EventStreamSpec {
  readonly changes: ChangeIterator
  readonly encoded: EncodedChanges
  readonly heartbeatMs: number
  readonly signal: AbortSignal
  /** Gives the data of the `error` event. A stream that has begun cannot report an error by its status. */
  readonly onError: (error: unknown) => string
  /** Closes the connection at once, and discards data that waits to be sent. Undefined: the stream fails instead. */
  readonly disconnect: (() => void) | undefined
}

/** An error within this time becomes the status of the answer. After it the stream has begun. */
const firstMs = 20

export async function eventStream(spec: EventStreamSpec): Promise<ReadableStream<Uint8Array>> {
  const { changes } = spec
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    const begin = await changes.cursor()
    const first = nextPage(changes)
    await Promise.race([first, new Promise<void>((resolve) => (timer = setTimeout(resolve, firstMs)))])
    first.catch(() => undefined)
    return new ReadableStream(new ChangeSource(spec, first, begin), { highWaterMark: 1 })
  } catch (error) {
    await changes.return()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

const encoder = new TextEncoder()

/** The largest part of a page that is handed over at a time. About twice as much waits for a caller that does not read. */
const chunkBytesMax = 64 * 1024

/** A caller that takes nothing for this many heartbeats, although changes are there, is cut off. */
const heartbeatsMissedMax = 4

class ChangeSource {
  readonly #spec: EventStreamSpec
  #next: Promise<readonly Change[] | undefined> | undefined
  /** The part of the current page that is not handed over yet. */
  #rest: Uint8Array | undefined
  #heartbeat: ReturnType<typeof setInterval> | undefined
  /** The cursor at the beginning, which is sent at once: a caller that began with "latest" needs it to connect again before the first change. */
  readonly #begin: string | undefined
  #taken = 0
  #missed = { taken: 0, heartbeats: 0 }
  #stop: (() => void) | undefined
  #isOver = false

  constructor(spec: EventStreamSpec, first: Promise<readonly Change[] | undefined>, begin: string | undefined) {
    this.#spec = spec
    this.#begin = begin
    this.#next = first
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { signal, heartbeatMs } = this.#spec
    // The first chunk also makes the server send the headers.
    controller.enqueue(encoder.encode(this.#begin === undefined ? ": perdure\n\n" : `: perdure\nid: ${this.#begin}\n\n`))
    this.#heartbeat = setInterval(() => void this.#sendHeartbeat(controller), heartbeatMs)
    if (signal.aborted) return this.#end(controller)
    this.#stop = () => this.#end(controller)
    signal.addEventListener("abort", this.#stop, { once: true })
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const rest = this.#rest ?? (await this.#nextBytes())
      this.#taken++
      if (this.#isOver) return
      if (rest === undefined) return this.#end(controller)
      this.#rest = rest.byteLength > chunkBytesMax ? rest.subarray(chunkBytesMax) : undefined
      controller.enqueue(rest.subarray(0, chunkBytesMax))
    } catch (error) {
      if (this.#isOver) return
      controller.enqueue(encoder.encode(`event: error\ndata: ${this.#spec.onError(error)}\n\n`))
      this.#end(controller)
    }
  }

  cancel(): void {
    this.#isOver = true
    this.#rest = undefined
    clearInterval(this.#heartbeat)
    // The signal of the server lives longer than the stream.
    if (this.#stop) this.#spec.signal.removeEventListener("abort", this.#stop)
    void this.#spec.changes.return().catch(() => undefined)
  }

  async #nextBytes(): Promise<Uint8Array | undefined> {
    const { changes, encoded } = this.#spec
    const page = await (this.#next ?? nextPage(changes))
    this.#next = undefined
    return page && encoded.bytesOf(page)
  }

  /** Sends the cursor only if the caller has taken every change, and no change is about to be sent: the cursor must not overtake a change. */
  async #sendHeartbeat(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (this.#isOver) return
    if ((controller.desiredSize ?? 0) <= 0) return this.#countMissed(controller)
    const taken = this.#taken
    const cursor = await this.#spec.changes.cursor().catch(() => undefined)
    await new Promise<void>((resolve) => setTimeout(resolve, 0))
    if (this.#isOver || this.#taken !== taken || this.#rest || (controller.desiredSize ?? 0) <= 0) return
    controller.enqueue(encoder.encode(cursor === undefined ? ":\n\n" : `id: ${cursor}\n\n`))
  }

  /** The caller has not taken the changes that are there. If it connects again with its last cursor, it misses nothing. */
  #countMissed(controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (this.#missed.taken !== this.#taken) this.#missed = { taken: this.#taken, heartbeats: 0 }
    if (++this.#missed.heartbeats < heartbeatsMissedMax) return
    this.cancel()
    if (this.#spec.disconnect) this.#spec.disconnect()
    else controller.error(new PerdureError("STREAM_CUT_OFF", "the caller did not read the stream; open it again with the id of the last event"))
  }

  #end(controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (this.#isOver) return
    this.cancel()
    controller.close()
  }
}

/** A client that is not an engine of this process gives one change at a time. */
async function nextPage(changes: ChangeIterator & Partial<PagedChanges>): Promise<readonly Change[] | undefined> {
  if (changes.nextPage) return changes.nextPage()
  const { done, value } = await changes.next()
  return done === true ? undefined : [value]
}
