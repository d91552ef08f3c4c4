import type { RequestBody, Route, RouteDialect } from "../route-definition.ts"
import { either, type Fields, object, oneOf, optional, type JsonSchema, type Schema } from "../schema.ts"

/** A route natively, or in one dialect, as the app uses it. */
export interface RouteVersion {
  readonly route: Route
  readonly querySchema: JsonSchema
  readonly dialect?: RouteDialect
}

/** The versions of a route. A request chooses one by `?dialect=`; the native version refuses every name that it does not know. */
export function routeVersions(route: Route): (url: string) => RouteVersion {
  const { dialects } = route
  const native = versionOf(dialects ? { ...route, query: { ...route.query, ...dialectQuery(dialects) } } : route)
  if (!dialects) return () => native
  const versions = new Map(
    Object.entries(dialects).map(([name, dialect]) => {
      const { query, body, answers, handle } = dialect
      const own = { ...route, answers, handle, query: { ...(query ?? route.query), ...dialectQuery({ [name]: dialect }) }, ...(body && { body }) }
      return [name, { ...versionOf(own), dialect }]
    }),
  )
  return (url) => {
    const start = url.indexOf("?")
    const names = start === -1 ? [] : new URLSearchParams(url.slice(start)).getAll("dialect").filter((name) => name !== "")
    return (names.length === 1 ? versions.get(names[0] ?? "") : undefined) ?? native
  }
}

function versionOf(route: Route): RouteVersion {
  return { route, querySchema: object(route.query ?? {}).json }
}

function dialectQuery(dialects: NonNullable<Route["dialects"]>): Fields {
  return {
    dialect: optional(
      oneOf(Object.keys(dialects), "ids, statuses and errors are those of this API; cloudflare: Cloudflare Workflows. Default: those of Perdure"),
    ),
  }
}

/** The route with everything that its versions take and answer, for the OpenAPI document. */
export function documentedRoute(route: Route): Route {
  const { dialects, ...native } = route
  if (!dialects) return route
  const versions = [native, ...Object.values(dialects)]
  const answers = versions.flatMap((version) => Object.entries(version.answers))
  const bodies = versions.flatMap(({ body }) => body ?? [])
  return {
    ...native,
    query: {
      ...joined(
        versions.flatMap(({ query }) => Object.entries(query ?? {})),
        anyOf,
      ),
      ...dialectQuery(dialects),
    },
    ...(bodies[0] && { body: { ...bodies[0], schema: anyOf(bodies.map(({ schema }) => schema)) } satisfies RequestBody }),
    answers: joined(answers, (same) => {
      const schemas = same.flatMap(({ schema }) => schema ?? [])
      return { ...same[0]!, ...(schemas.length > 0 && { schema: anyOf(schemas) }) }
    }),
  }
}

/** One entry for each name, made of all entries that have it. */
function joined<T>(entries: readonly (readonly [string, T])[], join: (same: readonly T[]) => T): Record<string, T> {
  const names = new Set(entries.map(([name]) => name))
  return Object.fromEntries([...names].map((name) => [name, join(entries.filter(([other]) => other === name).map(([, value]) => value))]))
}

function anyOf(schemas: readonly Schema<unknown>[]): Schema<unknown> {
  const different = [...new Map(schemas.map((schema) => [schema.json, schema])).values()]
  return different.length === 1 ? different[0]! : either(different)
}
