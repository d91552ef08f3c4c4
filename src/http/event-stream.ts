import type { Change } from "../core/change.ts"
import type { ChangeIterator } from "../engine/client.ts"

/**
 * Changes as Server-Sent Events. They are read only as fast as the caller takes them, and left as soon as the caller goes away. While
 * nothing happens, messages without data say that the stream is alive, and how far it has come: with the place of the last message
 * whoever comes back misses nothing, and need not pass over again what was not for them.
 */
export interface EventStreamSpec {
  readonly changes: ChangeIterator
  readonly encode: (change: Change) => string
  readonly heartbeatMs: number
  readonly signal: AbortSignal
  /** What ends a stream that has begun cannot be told in a status any more. */
  readonly onError: (error: unknown) => string
}

/** How long an error at the beginning may take to become the answer; after it the stream has begun. */
const firstMs = 20

export async function eventStream(spec: EventStreamSpec): Promise<ReadableStream<Uint8Array>> {
  const { changes } = spec
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    const begin = await changes.cursor()
    const first = changes.next()
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

class ChangeSource {
  readonly #spec: EventStreamSpec
  #next: ReturnType<ChangeIterator["next"]> | undefined
  #heartbeat: ReturnType<typeof setInterval> | undefined
  /** Told at once: whoever began with "latest" and comes back before anything happened has to know where that was. */
  readonly #begin: string | undefined
  #taken = 0
  #stop: (() => void) | undefined
  #isOver = false

  constructor(spec: EventStreamSpec, first: ReturnType<ChangeIterator["next"]>, begin: string | undefined) {
    this.#spec = spec
    this.#begin = begin
    this.#next = first
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { signal, heartbeatMs } = this.#spec
    // Also lets the headers out.
    controller.enqueue(encoder.encode(this.#begin === undefined ? ": perdure\n\n" : `: perdure\nid: ${this.#begin}\n\n`))
    this.#heartbeat = setInterval(() => void this.#beat(controller), heartbeatMs)
    if (signal.aborted) return this.#end(controller)
    this.#stop = () => this.#end(controller)
    signal.addEventListener("abort", this.#stop, { once: true })
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const next = await (this.#next ?? this.#spec.changes.next())
      this.#next = undefined
      this.#taken++
      if (this.#isOver) return
      if (next.done) return this.#end(controller)
      controller.enqueue(encoder.encode(`id: ${next.value.cursor}\ndata: ${this.#spec.encode(next.value)}\n\n`))
    } catch (error) {
      if (this.#isOver) return
      controller.enqueue(encoder.encode(`event: error\ndata: ${this.#spec.onError(error)}\n\n`))
      this.#end(controller)
    }
  }

  cancel(): void {
    this.#isOver = true
    clearInterval(this.#heartbeat)
    // The signal of the server outlives the stream.
    if (this.#stop) this.#spec.signal.removeEventListener("abort", this.#stop)
    void this.#spec.changes.return().catch(() => undefined)
  }

  /** Only to a caller who has taken all there was, and not while a change is on its way: its place would come before it. */
  async #beat(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (this.#isOver || (controller.desiredSize ?? 0) <= 0) return
    const taken = this.#taken
    const cursor = await this.#spec.changes.cursor().catch(() => undefined)
    await new Promise<void>((resolve) => setTimeout(resolve, 0))
    if (this.#isOver || this.#taken !== taken || (controller.desiredSize ?? 0) <= 0) return
    controller.enqueue(encoder.encode(cursor === undefined ? ":\n\n" : `id: ${cursor}\n\n`))
  }

  #end(controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (this.#isOver) return
    this.cancel()
    controller.close()
  }
}
