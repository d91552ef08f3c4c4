import type { AnswerSpec, Route } from "./route-definition.ts"
import type { Fields, JsonSchema } from "./schema.ts"
import { documentedRoute } from "./dialects/route-version.ts"
import { errorBody } from "./response-schemas.ts"
import { plainType, richType } from "./wire-format.ts"

/** The OpenAPI 3.1 document of the routes. Schemas that have a title become components. */
export function openApiDocument(routes: readonly Route[], options: { readonly isTokenNeeded: boolean }): OpenApiDocument {
  const schemas: Record<string, object> = {}
  const refer = (schema: JsonSchema): object => {
    const { title } = schema
    if (title === undefined) return inside(schema, refer)
    if (!Object.hasOwn(schemas, title)) {
      schemas[title] = {}
      schemas[title] = inside(schema, refer)
    }
    return { $ref: `#/components/schemas/${title}` }
  }
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes.map(documentedRoute)) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}")
    const operations = (paths[path] ??= {})
    operations[route.method.toLowerCase()] = operationOf(route, refer, options.isTokenNeeded)
  }
  return {
    openapi: "3.1.0",
    info: { title: "Perdure", version: "1", description: "Durable workflows: start, watch and control them." },
    paths,
    components: { schemas, securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  }
}

export interface OpenApiDocument {
  readonly openapi: string
  readonly info: object
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly securitySchemes: object }
}

type Refer = (schema: JsonSchema) => object

function inside(schema: JsonSchema, refer: Refer): object {
  const { properties, items, anyOf, additionalProperties, ...rest } = schema
  return {
    ...rest,
    ...(properties ? { properties: Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, refer(value)])) } : undefined),
    ...(items ? { items: refer(items) } : undefined),
    ...(anyOf ? { anyOf: anyOf.map(refer) } : undefined),
    ...(additionalProperties === undefined
      ? undefined
      : { additionalProperties: typeof additionalProperties === "boolean" ? additionalProperties : refer(additionalProperties) }),
  }
}

function operationOf(route: Route, refer: Refer, isTokenNeeded: boolean): object {
  const failure = { content: { [plainType]: { schema: refer(errorBody.json) } } }
  const errors = new Set([...route.errors, ...(route.body ? [408, 413] : []), ...(isTokenNeeded && route.actions.length > 0 ? [401] : [])])
  const parameters = [...pathParameters(route.path), ...queryParameters(route.query ?? {}, refer), ...headerParameters(route.headers ?? {})]
  return {
    operationId: route.name,
    summary: route.summary,
    tags: [route.tag],
    ...(parameters.length > 0 ? { parameters } : undefined),
    ...(route.body
      ? {
          requestBody: {
            required: route.body.required,
            ...(route.body.description === undefined ? undefined : { description: route.body.description }),
            content: { [plainType]: { schema: refer(route.body.schema.json) }, [richType]: {} },
          },
        }
      : undefined),
    responses: {
      ...Object.fromEntries(Object.entries(route.answers).map(([status, answer]) => [status, responseOf(answer, refer)])),
      ...Object.fromEntries([...errors].map((status) => [status, { description: meanings[status] ?? "the request failed", ...failure }])),
      default: { description: "another error", ...failure },
    },
    ...(isTokenNeeded && route.actions.length > 0 ? { security: [{ bearer: [] }] } : undefined),
  }
}

const meanings: Readonly<Record<number, string>> = {
  400: "the request does not fit the route",
  401: "no valid token was sent",
  403: "the caller is not allowed to do this",
  404: "nothing has that name",
  408: "the body did not arrive in time",
  409: "the state of the instance does not allow the request",
  406: "the answer is too large for application/json; accept application/vnd.perdure+json",
  413: "the body is too large",
  422: "the workflow's own code failed",
  503: "the server cannot answer now; try again later",
}

function responseOf({ description, schema, type }: AnswerSpec, refer: Refer): object {
  if (type !== undefined) return { description, content: { [type]: { schema: { type: "string" } } } }
  return { description, ...(schema ? { content: { [plainType]: { schema: refer(schema.json) }, [richType]: {} } } : undefined) }
}

function pathParameters(path: string): object[] {
  return [...path.matchAll(/:(\w+)/g)].map((match) => ({ name: match[1], in: "path", required: true, schema: { type: "string" } }))
}

function queryParameters(query: Fields, refer: Refer): object[] {
  return Object.entries(query).map(([name, { json }]) => ({
    name,
    in: "query",
    ...(json.type === "array" ? { style: "form", explode: false } : undefined),
    schema: refer(json),
  }))
}

function headerParameters(headers: Readonly<Record<string, string>>): object[] {
  return Object.entries(headers).map(([name, description]) => ({ name, in: "header", description, schema: { type: "string" } }))
}
