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

/** Options of the HTTP API. Each has a default. */
export interface HttpAppOptions {
  /** Callers have to send one of these tokens as `Authorization: Bearer …`. Default: no token is needed. */
  readonly token?: string | readonly string[]
  /** Called before each request is carried out. A Response blocks the request, and is its answer. Default: every caller with the token may do everything. */
  readonly authorize?: Authorize
  /** The Host headers that are accepted, with their port: `["api.example.com", "localhost:8787"]`. Default: all; on loopback, `serve` accepts only names of this machine. */
  readonly allowedHosts?: readonly string[]
  /** The origins whose pages may call the API and read its answers: `["https://app.example.com"]`, or `"*"`. Default: only the same origin. */
  readonly cors?: readonly string[] | "*"
  /** The longest body that is accepted. Default 9 MiB: a payload of 8 MiB, and the fields around it. */
  readonly bodyBytesMax?: number
  /**
   * How long a body may take to arrive, besides one second for each 32 KB. A slower request is answered with 408 (`REQUEST_TIMEOUT`), and its
   * connection is closed. Default one minute.
   */
  readonly bodyTimeout?: Duration
  /** The longest time that `GET /workflows/:id/result?wait=` waits. Default one minute. */
  readonly resultWaitMax?: Duration
  /** How often a stream sends a heartbeat. Default 15 seconds. */
  readonly heartbeat?: Duration
  /** Enables `POST /runner/tick`, for engines that execute in ticks only. Default: the route answers 403. */
  readonly tick?: boolean
  /** Ends streams and waits when it is aborted. `serve` has a signal of its own besides. */
  readonly signal?: AbortSignal
  /** Gets every error with a 5xx status, with the id that the caller got. Default: the logger of the engine, or the console. */
  readonly log?: HttpLog
}

/** Decides about a request. If it returns nothing, the request is allowed. A Response, such as one with status 403, is sent instead. */
export type Authorize = (call: AuthorizeCall) => Response | undefined | void | Promise<Response | undefined | void>

/** The argument of `authorize`, which is called once for each action and each workflow of a request. */
export interface AuthorizeCall {
  /** The request, for its address and headers. Do not read its body, because the API reads it. */
  readonly request: Request
  /** The action of the request. */
  readonly action: Action
  /** The workflow of the request. Absent: the request names none, or an instance that does not exist. */
  readonly workflow?: string
  /** The id of the instance, or of the schedule. */
  readonly id?: string
  /** The task queue from which a worker claims. Later requests about a claimed task have its secret token, and no queue. */
  readonly queue?: string
}

/** Where the HTTP API logs its errors. */
export interface HttpLog {
  /** An answer with a 5xx status was sent. `details` has the `id` that the caller got, and the `error`. */
  error(message: string, details?: Readonly<Record<string, unknown>>): void
}

export interface TickLimits {
  readonly maxInstances?: number
  readonly maxSteps?: number
}

export type Tick = (limits: TickLimits) => Promise<{ readonly processed: number; readonly nextDueAt?: number; readonly more: boolean }>

export interface HttpSettings {
  readonly tokens: readonly string[]
  readonly authorize: Authorize | undefined
  readonly allowedHosts: ReadonlySet<string> | undefined
  readonly origins: ReadonlySet<string> | "*"
  readonly bodyLimits: BodyLimits
  /** The limit of the values in one answer in plain JSON. */
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

/** The longest timer of the platform. */
const timerMsMax = 2 ** 31 - 1

function timerMs(duration: Duration, option: string): number {
  return Math.min(durationMs(duration, option), timerMsMax)
}

function bytesMaxOf({ bodyBytesMax = bodyBytesMaxDefault }: HttpAppOptions): number {
  if (typeof bodyBytesMax === "number" && bodyBytesMax > 0) return bodyBytesMax
  throw new PerdureError("BAD_OPTION", `bodyBytesMax is ${shown(bodyBytesMax)}; give a number of bytes`, { details: { option: "bodyBytesMax" } })
}

/** An engine of this process has `components`. Other clients have neither limits nor a logger. */
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
