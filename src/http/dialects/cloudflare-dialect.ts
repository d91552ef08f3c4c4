import { apiErrorOf } from "../../dialects/cloudflare-workflows/api-error.ts"
import { nativeId } from "../../dialects/cloudflare-workflows/instance-id.ts"
import type { Route, RouteDialect } from "../route-definition.ts"
import { cloudflareRoutes } from "./cloudflare-routes.ts"
import { DialectError } from "./dialect-error.ts"

/** Adds `?dialect=cloudflare` to a route, if Cloudflare Workflows has a word for what the route answers. */
export function withCloudflareDialect(route: Route): Route {
  const own = cloudflareRoutes.find(({ name }) => name === route.name)
  if (own === undefined) return route
  const { query, body, answers = route.answers, handle } = own.changes(route)
  const cloudflare: RouteDialect = { nativeId, errorOf, answers, handle, ...(query && { query }), ...(body && { body }) }
  return { ...route, dialects: { cloudflare } }
}

/** The HTTP statuses of the codes; others have 400. */
const statusOfCode: ReadonlyMap<string, number> = new Map([
  ["instance.not_found", 404],
  ["instance.already_exists", 409],
  ["instance.cannot_terminate", 409],
])

function errorOf(error: unknown): unknown {
  const known = apiErrorOf(error)
  return known ? new DialectError(statusOfCode.get(known.code) ?? 400, known) : error
}
