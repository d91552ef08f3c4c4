import { durationMs, type Duration } from "../core/time/duration.ts"
import { stackOf } from "../core/values/error-text.ts"
import { PerdureError } from "../core/errors.ts"
import { shown } from "../core/workflow/input-limits.ts"
import { safeLine, safeLines } from "../core/values/safe-text.ts"
import type { Client } from "../client-api/client-api.ts"
import type { EngineComponents } from "../engine/engine-components.ts"
import { plainBytesMax } from "./plain-body.ts"
import type { BodyLimits } from "./request-body.ts"
import type { Action } from "./route-definition.ts"

/** What a user may set for the app; everything has a default. */
export interface HttpAppOptions {
  /** Callers have to send one of these as `Authorization: Bearer …`. Default: none is asked for. */
  readonly token?: string | readonly string[]
  /** Asked before each request is carried out; a Response blocks it, and is the answer. Default: every caller who has the token may do everything. */
  readonly authorize?: Authorize
  /** Which Host headers are answered, with their port: `["api.example.com", "localhost:8787"]`. Default: all; `serve` on loopback sets its own. */
  readonly allowedHosts?: readonly string[]
  /** Pages of these origins may call, and read the answers: `["https://app.example.com"]`, or `"*"`. Default: only pages of the same origin. */
  readonly cors?: readonly string[] | "*"
  /** Longer bodies are refused. Default 9 MiB: a payload of 8 MiB, and what is around it. */
  readonly bodyBytesMax?: number
  /**
   * How long a body may take to arrive, beside one second for each 32 KB of it. A slower request is answered with 408 (`REQUEST_TIMEOUT`), and its
   * connection is closed. Default one minute.
   */
  readonly bodyTimeout?: Duration
  /** The longest that `GET /workflows/:id/result?wait=` waits. Default one minute. */
  readonly resultWaitMax?: Duration
  /** How often a stream says that it is alive. Default 15 seconds. */
  readonly heartbeat?: Duration
  /** Enables `POST /runner/tick`, for engines that execute only then. Default: 403. */
  readonly tick?: boolean
  /** Ends streams and waits when it is aborted; `serve` has one of its own. */
  readonly signal?: AbortSignal
  /** Told of every answer with a 5xx status, with the id that the caller was given. Default: the logger of the engine, or the console. */
  readonly log?: HttpLog
}

/** Decides about a request. It lets the request pass by giving nothing; a Response, such as one with status 403, is sent in its place. */
export type Authorize = (call: AuthorizeCall) => Response | undefined | void | Promise<Response | undefined | void>

/** What `authorize` is asked about. It is asked once for each action and each workflow of a request. */
export interface AuthorizeCall {
  /** The request as it came: its address and headers. Do not read its body, which the API reads. */
  readonly request: Request
  /** What the request would do. */
  readonly action: Action
  /** Absent where the request is about several workflows, or none that exists. */
  readonly workflow?: string
  /** Of the instance, or of the schedule. */
  readonly id?: string
}

/** Where the HTTP API writes what went wrong. */
export interface HttpLog {
  /** An answer with a 5xx status was sent. `details` has the `id` that the caller was given, and the `error`. */
  error(message: string, details?: Readonly<Record<string, unknown>>): void
}

export interface TickLimits {
  readonly maxInstances?: number
  readonly maxSteps?: number
}

export type Tick = (limits: TickLimits) => Promise<{ readonly processed: number }>

export interface HttpSettings {
  readonly tokens: readonly string[]
  readonly authorize: Authorize | undefined
  readonly allowedHosts: ReadonlySet<string> | undefined
  readonly origins: ReadonlySet<string> | "*"
  readonly bodyLimits: BodyLimits
  /** Of the values in one answer in plain JSON. */
  readonly plainBytesMax: number
  readonly resultWaitMsMax: number
  readonly heartbeatMs: number
  readonly tick: Tick | undefined
  readonly signal: AbortSignal | undefined
  readonly log: HttpLog
}

const bodyBytesMaxDefault = 9 * 1024 * 1024

export function httpSettings(client: Client, options: HttpAppOptions): HttpSettings {
  const { token, allowedHosts, cors = [] } = options
  const tokens = token === undefined ? [] : typeof token === "string" ? [token] : token
  if (token !== undefined && (tokens.length === 0 || tokens.some((one) => typeof one !== "string" || one === "")))
    throw new PerdureError("BAD_OPTION", "token is empty; give a long random text, or omit the option")
  return {
    tokens,
    authorize: options.authorize,
    allowedHosts: allowedHosts && new Set(allowedHosts.map((host) => host.toLowerCase())),
    origins: cors === "*" ? "*" : new Set(cors),
    bodyLimits: { bytesMax: bytesMaxOf(options), timeoutMs: timerMs(options.bodyTimeout ?? "1m", "bodyTimeout") },
    plainBytesMax: plainBytesMax(payloadBytesMaxOf(client)),
    resultWaitMsMax: durationMs(options.resultWaitMax ?? "1m", "resultWaitMax"),
    heartbeatMs: timerMs(options.heartbeat ?? "15s", "heartbeat"),
    tick: options.tick === true ? tickOf(client) : undefined,
    signal: options.signal,
    log: options.log ?? logOf(client),
  }
}

/** The longest that a timer of the platform can be set to. */
const timerMsMax = 2 ** 31 - 1

function timerMs(duration: Duration, option: string): number {
  return Math.min(durationMs(duration, option), timerMsMax)
}

function bytesMaxOf({ bodyBytesMax = bodyBytesMaxDefault }: HttpAppOptions): number {
  if (typeof bodyBytesMax === "number" && bodyBytesMax > 0) return bodyBytesMax
  throw new PerdureError("BAD_OPTION", `bodyBytesMax is ${shown(bodyBytesMax)}; give a number of bytes`, { details: { option: "bodyBytesMax" } })
}

/** An engine of this process; other clients know neither its limits nor its logger. */
type MaybeEngine = Client & { readonly components?: Pick<EngineComponents, "settings" | "host"> }

function payloadBytesMaxOf(client: MaybeEngine): number | undefined {
  return client.components?.settings.limits.payloadBytesMax
}

function logOf(client: MaybeEngine): HttpLog {
  return client.components?.host.log ?? { error: (message, details) => console.error(`${safeLine(message)} ${safeLines(stackOf(details?.["error"]))}`) }
}

function tickOf(client: Client & { readonly tick?: Tick }): Tick {
  if (typeof client.tick !== "function") throw new PerdureError("BAD_OPTION", "the option tick needs an engine of this process, not a client")
  return (limits) => (client as { tick: Tick }).tick(limits)
}
