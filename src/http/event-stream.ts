/**
 * An async iterable as Server-Sent Events. It is read only as fast as the caller takes it; comments say that it is alive while nothing
 * happens; and it is left as soon as the caller goes away.
 */
export interface EventStreamSpec<T> {
  readonly source: AsyncIterable<T>
  /** The place after an item, for `Last-Event-ID`. */
  readonly cursorOf: (item: T) => string
  readonly encode: (item: T) => string
  readonly heartbeatMs: number
  readonly signal: AbortSignal
  /** What ends a stream that has begun cannot be told in a status any more. */
  readonly onError: (error: unknown) => string
}

/** How long an error at the beginning may take to become the answer; after it the stream has begun. */
const firstMs = 50

export async function eventStream<T>(spec: EventStreamSpec<T>): Promise<ReadableStream<Uint8Array>> {
  const iterator = spec.source[Symbol.asyncIterator]()
  const first = iterator.next()
  let timer: ReturnType<typeof setTimeout> | undefined
  const begun = new Promise<void>((resolve) => (timer = setTimeout(resolve, firstMs)))
  try {
    await Promise.race([first, begun])
  } finally {
    clearTimeout(timer)
  }
  first.catch(() => undefined)
  return new ReadableStream(new EventSourceReader(spec, iterator, first), { highWaterMark: 1 })
}

const encoder = new TextEncoder()

class EventSourceReader<T> {
  readonly #spec: EventStreamSpec<T>
  readonly #iterator: AsyncIterator<T>
  #next: Promise<IteratorResult<T>> | undefined
  #heartbeat: ReturnType<typeof setInterval> | undefined
  #isOver = false

  constructor(spec: EventStreamSpec<T>, iterator: AsyncIterator<T>, first: Promise<IteratorResult<T>>) {
    this.#spec = spec
    this.#iterator = iterator
    this.#next = first
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { signal, heartbeatMs } = this.#spec
    // Also lets the headers out.
    controller.enqueue(encoder.encode(": \n\n"))
    this.#heartbeat = setInterval(() => {
      if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(": \n\n"))
    }, heartbeatMs)
    if (signal.aborted) return this.cancel()
    signal.addEventListener("abort", () => this.#end(controller), { once: true })
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const next = await (this.#next ?? this.#iterator.next())
      this.#next = undefined
      if (this.#isOver) return
      if (next.done) return this.#end(controller)
      controller.enqueue(encoder.encode(`id: ${this.#spec.cursorOf(next.value)}\ndata: ${this.#spec.encode(next.value)}\n\n`))
    } catch (error) {
      if (this.#isOver) return
      controller.enqueue(encoder.encode(`event: error\ndata: ${this.#spec.onError(error)}\n\n`))
      this.#end(controller)
    }
  }

  cancel(): void {
    this.#isOver = true
    clearInterval(this.#heartbeat)
    void Promise.resolve(this.#iterator.return?.()).catch(() => undefined)
  }

  #end(controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (this.#isOver) return
    this.cancel()
    controller.close()
  }
}
