import { durationMs, type Duration } from "../core/time/duration.ts"
import { PerdureError } from "../core/errors.ts"
import { encodeRich, richType } from "../http/wire-format.ts"
import { type HttpAnswer, readAnswer, TransientError } from "./response.ts"
import { type RetryPacing, sleep } from "./retry-pacing.ts"

/** Options of `connect`. Every option has a default. */
export interface ConnectOptions {
  /** Sent as `Authorization: Bearer …`. Default: none. */
  readonly token?: string
  /** Used in place of the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** Sent with every request. Default: none beside those of the protocol. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long to try again while the server cannot be reached, before a call throws `UNREACHABLE`. Default 30 seconds. */
  readonly retryFor?: Duration
}

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** The parts of the path. The transport escapes them. */
  readonly path: readonly string[]
  readonly query?: Query
  /** The body. Default: none. */
  readonly body?: unknown
  /** True if the request may take effect twice. Else it is sent again only if it did not reach the server. */
  readonly isRepeatable: boolean
  /** How long the answer may take. */
  readonly timeoutMs?: number
  /** How long to retry this request, if that is shorter than the time of the client. */
  readonly retryMs?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>

const timeoutMsDefault = 30_000
const firstPauseMs = 100
const pauseMsMax = 5_000
/** The error codes of the platform for a request that was never sent. */
const unsentCodes = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"])

/** Sends requests to one server. A request that fails is sent again if that is safe and may help. */
export class Transport {
  readonly pace: RetryPacing
  readonly retryMs: number
  readonly #url: string
  readonly #fetch: typeof globalThis.fetch
  readonly #headers: Readonly<Record<string, string>>
  readonly #closing = new AbortController()

  constructor(url: string, options: ConnectOptions, pace: RetryPacing) {
    this.#url = baseOf(url)
    this.#fetch = options.fetch ?? globalThis.fetch
    this.#headers = { ...options.headers, ...(options.token === undefined ? undefined : { authorization: `Bearer ${options.token}` }) }
    this.retryMs = durationMs(options.retryFor ?? "30s", "retryFor")
    this.pace = pace
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  close(): void {
    this.#closing.abort(new PerdureError("ENGINE_CLOSED", "this client is closed; call connect again"))
  }

  async exchange(call: Call): Promise<HttpAnswer> {
    let isRepeat = false
    const retries = new Retries(this, call)
    for (;;) {
      const attempt = new Attempt(this.pace, call.timeoutMs ?? timeoutMsDefault, [this.#closing.signal, call.signal])
      try {
        attempt.throwIfAborted()
        const answer = await readAnswer(await this.send(call, attempt.signal))
        return { ...answer, isRepeat }
      } catch (error) {
        attempt.throwIfAborted()
        if (!(error instanceof TransientError)) throw PerdureError.is(error, "UNREACHABLE") ? this.unreachable(error.message, error.details) : error
        if (!error.isUnsent) isRepeat = true
        await retries.pause(error, call.isRepeatable || error.isUnsent)
      } finally {
        attempt.end()
      }
    }
  }

  /** Sends the request once. Throws a TransientError if there is no answer. */
  async send(call: Call, signal: AbortSignal): Promise<Response> {
    const { method, path, query = {} } = call
    checkPath(path)
    const hasBody = "body" in call
    const init = {
      method,
      headers: { accept: richType, ...(hasBody ? { "content-type": richType } : undefined), ...this.#headers, ...call.headers },
      ...(hasBody ? { body: encodeRich(call.body) } : undefined),
      signal,
    }
    try {
      // In browsers, `fetch` has to be called without `this`.
      const { fetch } = { fetch: this.#fetch }
      return await fetch(`${this.#url}/${path.map(encodeURIComponent).join("/")}${queryText(query)}`, init)
    } catch (cause) {
      throw new TransientError(signal.aborted ? "it did not answer in time" : messageOf(cause), { cause, isUnsent: unsentCodes.has(codeOf(cause)) })
    }
  }

  /** The signal that is aborted when the client is closed. */
  get signal(): AbortSignal {
    return this.#closing.signal
  }

  /** The error of a request that the server has accepted, but not answered in time. */
  noAnswer(message: string): PerdureError {
    return new PerdureError("UNREACHABLE", message, { details: { isUnknown: true, url: this.#url } })
  }

  unreachable(why: string, details: Readonly<Record<string, unknown>> = {}, cause?: unknown): PerdureError {
    return new PerdureError("UNREACHABLE", `${this.#url} cannot be reached: ${why}`, { details: { ...details, url: this.#url }, cause })
  }
}

/** Counts failures, waits between two tries, and decides when to give up. */
export class Retries {
  readonly #transport: Transport
  readonly #signal: AbortSignal | undefined
  readonly #retryMs: number
  /** The time of the first failure after the last success. */
  #since: number | undefined
  #count = 0

  constructor(transport: Transport, { retryMs, signal }: Pick<Call, "retryMs" | "signal">) {
    this.#transport = transport
    this.#signal = signal
    this.#retryMs = Math.min(retryMs ?? Infinity, transport.retryMs)
  }

  /** Called after a success. The next failure counts as the first one. */
  restart(): void {
    this.#count = 0
    this.#since = undefined
  }

  /** Waits before the next try. Throws if there is none. */
  async pause(error: TransientError, mayRepeat: boolean): Promise<void> {
    const { pace, signal } = this.#transport
    const spread = 0.5 + Math.random() / 2
    const pauseMs = Math.max(spread * Math.min(firstPauseMs * 2 ** this.#count, pauseMsMax), error.retryAfterMs ?? 0)
    this.#count++
    this.#since ??= pace.now()
    if (!mayRepeat)
      throw this.#transport.unreachable(`${error.message}; the request may have taken effect, and a second one might do it twice`, { isUnknown: true }, error)
    if (pace.now() + pauseMs - this.#since > this.#retryMs) throw this.#transport.unreachable(`${error.message}, ${this.#count} times`, {}, error)
    await sleep(pace, pauseMs, this.#signal ? AbortSignal.any([signal, this.#signal]) : signal)
  }
}

/** The time limit of one request. Its signal is aborted when the time is up, or when one of the given signals is aborted. */
export class Attempt {
  readonly #controller = new AbortController()
  readonly #signals: readonly (AbortSignal | undefined)[]
  readonly #stop = () => this.#controller.abort()
  readonly #pace: RetryPacing
  readonly #timeoutMs: number
  #cancelTimer: () => void

  constructor(pace: RetryPacing, timeoutMs: number, signals: readonly (AbortSignal | undefined)[]) {
    this.#pace = pace
    this.#timeoutMs = timeoutMs
    this.#signals = signals
    this.#cancelTimer = pace.after(timeoutMs, this.#stop)
    for (const signal of signals) {
      if (signal?.aborted) this.#stop()
      signal?.addEventListener("abort", this.#stop, { once: true })
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Starts the time limit anew. */
  restartTimer(): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#pace.after(this.#timeoutMs, this.#stop)
  }

  /** Ends the time limit until `restartTimer` is called. */
  stopTimer(): void {
    this.#cancelTimer()
  }

  throwIfAborted(): void {
    for (const signal of this.#signals) signal?.throwIfAborted()
  }

  end(): void {
    this.#cancelTimer()
    for (const signal of this.#signals) signal?.removeEventListener("abort", this.#stop)
  }

  abort(): void {
    this.#stop()
    this.end()
  }
}

function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol) || parsed.username !== "" || parsed.search !== "" || parsed.hash !== "")
    throw new PerdureError("BAD_OPTION", `${JSON.stringify(url)} is not the address of a server, such as http://127.0.0.1:8787`, { details: { option: "url" } })
  return parsed.href.replace(/\/+$/, "")
}

/** A URL resolves the parts `.` and `..` even if they are escaped, so the request would have another path. Half of a surrogate pair cannot be escaped. */
function checkPath(path: readonly string[]): void {
  for (const part of path)
    if (/^\.{0,2}$|\p{Surrogate}/u.test(part))
      throw new PerdureError("BAD_NAME", `${JSON.stringify(part)} cannot be part of a URL; use another name`, { details: { name: part } })
}

function queryText(query: Query): string {
  const texts = new URLSearchParams()
  for (const [key, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value]) if (one !== undefined) texts.append(key, String(one))
  const text = texts.toString()
  return text === "" ? "" : `?${text}`
}

function codeOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined
  return typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  const detail = cause instanceof Error ? cause.message || codeOf(error) : ""
  return detail === "" ? error.message : `${error.message} (${detail})`
}
