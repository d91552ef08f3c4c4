import type { Change } from "../core/journal/change.ts"
import { Deferred } from "../core/execution/deferred.ts"
import { SerialQueue } from "../core/collections/serial-queue.ts"
import type { ChangeIterator, Changes } from "../client-api/client-api.ts"
import { decodeRich, richType } from "../http/wire-format.ts"
import { readAnswer, streamError, TransientError, valueIn } from "./response.ts"
import { SseParser, type StreamEvent } from "./sse-parser.ts"
import { Attempt, type Transport, Retries } from "./transport.ts"

/** A connection without any data for this time is dead. Servers send a comment every 15 seconds. */
const silenceMsMax = 45_000
/** A connection that lasted this long was stable, so its failure counts as the first one. */
const stableMs = 1_000

/** The changes that a server streams. Each iteration begins at the cursor. */
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

/** Follows a stream. If a connection breaks, the next one begins at the last cursor. */
class RemoteChangeIterator implements ChangeIterator {
  readonly #transport: Transport
  readonly #path: readonly string[]
  readonly #ending = new AbortController()
  /** True if the client was closed before the iteration began. */
  readonly #beganClosed: boolean
  readonly #retries: Retries
  #connection: Connection | undefined
  #cursor: string | undefined
  /** True if the cursor is one of the server, not "latest": the changes after it do not depend on the time of the request. */
  #isPlaced: boolean
  readonly #placed = new Deferred()
  #nextData: string | undefined
  readonly #calls = new SerialQueue()

  constructor(transport: Transport, path: readonly string[], cursor: string | undefined) {
    this.#transport = transport
    this.#path = path
    this.#cursor = cursor
    this.#isPlaced = cursor !== "latest"
    this.#beganClosed = transport.isClosed
    this.#retries = new Retries(transport, { signal: this.#ending.signal })
  }

  next(): Promise<IteratorResult<Change, undefined>> {
    return this.#calls.do(() => this.#advance())
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#end()
    return { done: true, value: undefined }
  }

  /** The server sends the cursor of "latest" when the stream begins. */
  async cursor(): Promise<string | undefined> {
    const found = this.#calls.do(async () => {
      while (!this.#isPlaced && !this.#isOver) this.#nextData = await this.#receive()
    })
    // A call of `next` that is under way may receive the cursor first.
    if (!this.#isPlaced) await Promise.race([this.#placed.promise, found])
    return this.#cursor
  }

  get #isOver(): boolean {
    return this.#ending.signal.aborted || this.#transport.isClosed
  }

  async #advance(): Promise<IteratorResult<Change, undefined>> {
    if (this.#beganClosed) this.#transport.signal.throwIfAborted()
    try {
      while (!this.#isOver) {
        const data = this.#nextData ?? (await this.#receive())
        this.#nextData = undefined
        if (data !== undefined) return { done: false, value: decodeRich(data) as Change }
      }
    } catch (error) {
      const wasOver = this.#isOver
      this.#end()
      if (!wasOver) throw error
    }
    return { done: true, value: undefined }
  }

  /** The data of the next event; undefined if the event has only a cursor. */
  async #receive(): Promise<string | undefined> {
    try {
      this.#connection ??= await Connection.open(this.#transport, this.#path, this.#cursor, this.#ending.signal)
      const event = await this.#connection.next()
      this.#retries.restart()
      if (event.type === "error" && event.data !== undefined) throw streamError(event.data)
      this.#cursor = event.id ?? this.#cursor
      if (event.id !== undefined) {
        this.#isPlaced = true
        this.#placed.resolve(undefined)
      }
      return event.data
    } catch (error) {
      const isStable = this.#connection?.isStable === true
      this.#connection?.close()
      this.#connection = undefined
      if (!(error instanceof TransientError) || this.#isOver) throw error
      if (isStable) this.#retries.restart()
      await this.#retries.pause(error, true)
      return undefined
    }
  }

  #end(): void {
    this.#ending.abort()
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
    attempt.stopTimer()
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

  /** True if the connection has lasted for a while. */
  get isStable(): boolean {
    return this.#transport.pace.now() - this.#since >= stableMs
  }

  async next(): Promise<StreamEvent> {
    for (;;) {
      const event = this.#events.shift()
      if (event) return event
      this.#events = this.#parser.feed(await this.#read())
    }
  }

  async #read(): Promise<string> {
    this.#attempt.restartTimer()
    try {
      const { done, value } = await this.#reader.read()
      if (!done) return this.#decoder.decode(value, { stream: true })
    } catch (cause) {
      throw new TransientError(this.#attempt.signal.aborted ? "the stream fell silent" : "the stream broke off", { cause })
    } finally {
      this.#attempt.stopTimer()
    }
    throw new TransientError("the stream ended")
  }

  close(): void {
    this.#attempt.abort()
    void this.#reader.cancel().catch(() => undefined)
  }
}
