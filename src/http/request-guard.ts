import { PerdureError } from "../core/errors.ts"
import { sha256 } from "../core/values/sha256.ts"
import type { HttpSettings } from "./settings.ts"

/**
 * Decides who may call at all. A browser on the same machine reaches a server that listens on loopback, and sends requests for every page. So pages
 * of other origins may neither change anything nor open streams (CSRF). A request with another host name than the server's is refused, because a
 * foreign DNS server may have led it here (DNS rebinding).
 */
export class RequestGuard {
  readonly #settings: HttpSettings
  readonly #tokens: readonly string[]

  constructor(settings: HttpSettings) {
    this.#settings = settings
    this.#tokens = settings.tokens.map(sha256)
  }

  checkHost(request: Request): void {
    const { allowedHosts } = this.#settings
    if (!allowedHosts) return
    const host = hostOf(request)
    if (!allowedHosts.has(host))
      throw new PerdureError("FORBIDDEN", `this server does not answer to the host "${host}"; to allow it, add it to the option allowedHosts`)
  }

  /** For requests that change something, and for streams. A caller that is not a browser sends no Origin. */
  checkOrigin(request: Request): void {
    const origin = request.headers.get("origin")
    const site = request.headers.get("sec-fetch-site")
    const isOwn = origin === null ? site === null || site === "same-origin" || site === "none" : this.#isAllowed(origin) || hostIn(origin) === hostOf(request)
    if (!isOwn)
      throw new PerdureError("FORBIDDEN", `pages of ${origin ?? "another origin"} may not call this server; to allow them, add the origin to the option cors`)
  }

  /** Compares the hashes of all tokens to their end, so the time that it takes says nothing about a token. */
  checkToken(request: Request): void {
    if (this.#tokens.length === 0) return
    const presented = sha256(tokenIn(request.headers.get("authorization")))
    let isKnown = false
    for (const token of this.#tokens) {
      let difference = 0
      for (let at = 0; at < token.length; at++) difference |= token.charCodeAt(at) ^ presented.charCodeAt(at)
      if (difference === 0) isKnown = true
    }
    if (!isKnown) throw new PerdureError("UNAUTHORIZED", "send a valid token as `Authorization: Bearer …`")
  }

  /** The headers by which a browser lets a page of that origin read the answer. */
  corsHeaders(request: Request): Readonly<Record<string, string>> | undefined {
    if (this.#settings.origins !== "*" && this.#settings.origins.size === 0) return undefined
    const origin = request.headers.get("origin")
    if (origin === null || !this.#isAllowed(origin)) return { vary: "Origin" }
    return { "access-control-allow-origin": origin, "access-control-expose-headers": "Allow, Retry-After, WWW-Authenticate", vary: "Origin" }
  }

  #isAllowed(origin: string): boolean {
    const { origins } = this.#settings
    return origins === "*" || origins.has(origin)
  }
}

export const preflightHeaders = {
  "access-control-allow-headers": "Accept, Authorization, Content-Type, Event-Id, eventId, Last-Event-ID",
  "access-control-max-age": "600",
}

const tokenLengthMax = 4_096

function tokenIn(header: string | null): string {
  const match = /^bearer +(\S+) *$/i.exec(header === null || header.length > tokenLengthMax ? "" : header)
  return match?.[1] ?? ""
}

function hostOf(request: Request): string {
  return (request.headers.get("host") ?? new URL(request.url).host).toLowerCase()
}

/** Undefined: the origin is `null`, or not a URL. */
function hostIn(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host.toLowerCase() : undefined
}
