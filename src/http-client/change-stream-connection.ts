import type { Change } from "../core/journal/change.ts"
import { Deferred } from "../core/execution/deferred.ts"
import { SerialQueue } from "../core/collections/serial-queue.ts"
import type { ChangeIterator, Changes } from "../client-api/client-api.ts"
import { decodeRich, richType } from "../http/wire-format.ts"
import { readAnswer, streamError, TransientError, valueIn } from "./response.ts"
import { SseParser, type StreamEvent } from "./sse-parser.ts"
import { Attempt, type Transport, Tries } from "./transport.ts"

/** Without a sign of life for so long, a connection is dead; servers send one every 15 seconds. */
const silenceMsMax = 45_000
/** One that lasted so long was a good one. */
const goodMs = 1_000

/** The changes that a server streams. Every iteration begins at the cursor anew. */
export class ChangeStreamConnection implements Changes {
  readonly #transport: Transport
  readonly #path: readonly string[]
  readonly #cursor: string | undefined

  constructor(transport: Transport, path: readonly string[], cursor: string | undefined) {
    this.#transport = transport
    this.#path = path
    this.#cursor = cursor
  }

  [Symbol.asyncIterator](): RemoteChangeIterator {
    return new RemoteChangeIterator(this.#transport, this.#path, this.#cursor)
  }
}

/** Follows a stream over connections that break: each next one begins where the one before got to. */
class RemoteChangeIterator implements ChangeIterator {
  readonly #transport: Transport
  readonly #path: readonly string[]
  readonly #leaving = new AbortController()
  /** The client was closed before. */
  readonly #isTooLate: boolean
  readonly #tries: Tries
  #connection: Connection | undefined
  #cursor: string | undefined
  /** The cursor is one that the server gave: what comes after it is the same whenever it is asked for. */
  #isPlaced: boolean
  readonly #placed = new Deferred()
  #kept: string | undefined
  readonly #calls = new SerialQueue()

  constructor(transport: Transport, path: readonly string[], cursor: string | undefined) {
    this.#transport = transport
    this.#path = path
    this.#cursor = cursor
    this.#isPlaced = cursor !== "latest"
    this.#isTooLate = transport.isClosed
    this.#tries = new Tries(transport, { signal: this.#leaving.signal })
  }

  next(): Promise<IteratorResult<Change, undefined>> {
    return this.#calls.do(() => this.#advance())
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#leave()
    return { done: true, value: undefined }
  }

  /** Of "latest" the server says what it is when the stream begins. */
  async cursor(): Promise<string | undefined> {
    const found = this.#calls.do(async () => {
      while (!this.#isPlaced && !this.#isOver) this.#kept = await this.#receive()
    })
    // A call that waits for a change may find it first.
    if (!this.#isPlaced) await Promise.race([this.#placed.promise, found])
    return this.#cursor
  }

  get #isOver(): boolean {
    return this.#leaving.signal.aborted || this.#transport.isClosed
  }

  async #advance(): Promise<IteratorResult<Change, undefined>> {
    if (this.#isTooLate) this.#transport.signal.throwIfAborted()
    try {
      while (!this.#isOver) {
        const data = this.#kept ?? (await this.#receive())
        this.#kept = undefined
        if (data !== undefined) return { done: false, value: decodeRich(data) as Change }
      }
    } catch (error) {
      const wasOver = this.#isOver
      this.#leave()
      if (!wasOver) throw error
    }
    return { done: true, value: undefined }
  }

  /** The data of the next event, if it has any. */
  async #receive(): Promise<string | undefined> {
    try {
      this.#connection ??= await Connection.open(this.#transport, this.#path, this.#cursor, this.#leaving.signal)
      const event = await this.#connection.next()
      this.#tries.restart()
      if (event.type === "error" && event.data !== undefined) throw streamError(event.data)
      this.#cursor = event.id ?? this.#cursor
      if (event.id !== undefined) {
        this.#isPlaced = true
        this.#placed.resolve(undefined)
      }
      return event.data
    } catch (error) {
      const isGood = this.#connection?.isGood === true
      this.#connection?.close()
      this.#connection = undefined
      if (!(error instanceof TransientError) || this.#isOver) throw error
      if (isGood) this.#tries.restart()
      await this.#tries.pause(error, true)
      return undefined
    }
  }

  #leave(): void {
    this.#leaving.abort()
    this.#connection?.close()
    this.#connection = undefined
  }
}

class Connection {
  readonly #attempt: Attempt
  readonly #transport: Transport
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder()
  readonly #parser = new SseParser()
  readonly #since: number
  #events: StreamEvent[] = []

  private constructor(transport: Transport, attempt: Attempt, body: ReadableStream<Uint8Array>) {
    this.#transport = transport
    this.#attempt = attempt
    this.#reader = body.getReader()
    this.#since = transport.pace.now()
    attempt.rest()
  }

  static async open(transport: Transport, path: readonly string[], cursor: string | undefined, leaving: AbortSignal): Promise<Connection> {
    const attempt = new Attempt(transport.pace, silenceMsMax, [transport.signal, leaving])
    const headers = { accept: `text/event-stream, ${richType}` }
    try {
      const response = await transport.send({ method: "GET", path, query: { cursor }, isRepeatable: true, headers }, attempt.signal)
      const isStream = response.ok && response.headers.get("content-type")?.startsWith("text/event-stream") === true
      if (isStream && response.body) return new Connection(transport, attempt, response.body)
      valueIn({ ...(await readAnswer(response)), isRepeat: false })
      throw transport.unreachable("it does not stream")
    } catch (error) {
      attempt.abort()
      throw error
    }
  }

  /** It stayed for a while. */
  get isGood(): boolean {
    return this.#transport.pace.now() - this.#since >= goodMs
  }

  async next(): Promise<StreamEvent> {
    for (;;) {
      const event = this.#events.shift()
      if (event) return event
      this.#events = this.#parser.feed(await this.#read())
    }
  }

  async #read(): Promise<string> {
    this.#attempt.renew()
    try {
      const { done, value } = await this.#reader.read()
      if (!done) return this.#decoder.decode(value, { stream: true })
    } catch (cause) {
      throw new TransientError(this.#attempt.signal.aborted ? "the stream fell silent" : "the stream broke off", { cause })
    } finally {
      this.#attempt.rest()
    }
    throw new TransientError("the stream ended")
  }

  close(): void {
    this.#attempt.abort()
    void this.#reader.cancel().catch(() => undefined)
  }
}
