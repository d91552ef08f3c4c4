// Requests for the HTTP API, generated from its OpenAPI document: valid ones, and ones with one fault. The instance or schedule of a request
// is chosen by number when the request is sent, so that a request makes sense after any other.

import fc from "fast-check"
import type { OpenApiDocument } from "../../src/http/openapi.ts"
import type { JsonSchema } from "../../src/http/schema.ts"

export interface GeneratedRequest {
  readonly operation: Operation
  /** Undefined for a valid request. */
  readonly fault: Fault | undefined
  readonly pick: number
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  readonly isRich: boolean
  readonly isHead: boolean
  readonly junk: Junk
}

export type Fault = (typeof faults)[number]

export interface Junk {
  readonly text: string
  readonly value: unknown
  readonly key: string
  readonly header: readonly [string, string]
}

export interface Operation {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly query: readonly Parameter[]
  readonly body: JsonSchema | undefined
}

interface Parameter {
  readonly name: string
  readonly schema: JsonSchema
}

const faults = ["path", "unknownQuery", "query", "brokenBody", "otherBody", "member", "method", "header", "route", "brokenRich"] as const

export function operationsOf(document: OpenApiDocument): readonly Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { operationId, parameters = [], requestBody } = operation as DocumentOperation
      return {
        name: operationId,
        method: method.toUpperCase(),
        path,
        query: parameters.filter((parameter) => parameter.in === "query").map(({ name, schema }) => ({ name, schema: inlined(schema, document) })),
        body: requestBody && inlined(requestBody.content["application/json"].schema, document),
      }
    }),
  )
}

interface DocumentOperation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: JsonSchema }[]
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly schema: JsonSchema } } }
}

/** Bodies of requests do not refer to themselves. */
function inlined(schema: JsonSchema & { readonly $ref?: string }, document: OpenApiDocument): JsonSchema {
  const { $ref, properties, items, anyOf, ...rest } = schema
  if ($ref !== undefined) return inlined(document.components.schemas[$ref.split("/").at(-1) ?? ""] as JsonSchema, document)
  return {
    ...rest,
    ...(properties ? { properties: Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, inlined(value, document)])) } : undefined),
    ...(items ? { items: inlined(items, document) } : undefined),
    ...(anyOf ? { anyOf: anyOf.map((one) => inlined(one, document)) } : undefined),
  }
}

export function requestsFor(operations: readonly Operation[]): fc.Arbitrary<GeneratedRequest> {
  const junk = fc.record({
    text: fc.oneof(fc.string({ unit: "binary" }), fc.string(), fc.constantFrom("", "..", "%", "\u0000", "\ud800", "__proto__", "x".repeat(5_000))),
    value: fc.anything({ maxDepth: 3, withNullPrototype: false }).filter(isJson),
    key: fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toString", "length")),
    header: fc.constantFrom(
      ["origin", "https://elsewhere.example"] as const,
      ["origin", "null"] as const,
      ["sec-fetch-site", "cross-site"] as const,
      ["content-length", "99999999"] as const,
      ["content-type", "text/html"] as const,
      ["authorization", "Bearer nobody"] as const,
      ["last-event-id", "no place"] as const,
    ),
  })
  return fc.oneof(
    ...operations.map((operation) =>
      fc.record({
        operation: fc.constant(operation),
        fault: fc.option(fc.constantFrom(...faults), { freq: 3, nil: undefined }),
        pick: fc.nat(1_000),
        query: queryOf(operation),
        body: operation.body ? bodyOf(operation, operation.body) : fc.constant(undefined),
        isRich: fc.boolean(),
        isHead: operation.method === "GET" ? fc.integer({ min: 0, max: 9 }).map((number) => number === 0) : fc.constant(false),
        junk,
      }),
    ),
  )
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}

/** Values for descriptions in the document, because a schema alone does not say what a time or the name of a workflow is. */
const meanings: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  type: fc.constantFrom("counter", "greet", "failing", "limited"),
  workflow: fc.constantFrom("counter", "greet", "failing", "limited"),
  cursor: fc.constant(undefined),
  from: fc.constant(undefined),
  version: fc.constant("1"),
  delay: fc.constantFrom("1s", 5, "2 minutes"),
  startAt: fc.constantFrom(1_800_000_000_000, "2030-01-01T00:00:00Z"),
  endAt: fc.constantFrom(1_900_000_000_000, "2035-01-01T00:00:00Z"),
  timeout: fc.constantFrom("1h", 100_000),
  catchUp: fc.constantFrom("1h", 100_000),
  wait: fc.constantFrom("1ms", 5, "1s"),
  since: fc.constantFrom("2020-01-01", 0, 1_700_000_000_000),
  until: fc.constantFrom("2040-01-01", 2_000_000_000_000),
  order: fc.constantFrom("newest", "oldest"),
  limit: fc.integer({ min: 1, max: 1_000 }),
  run: fc.integer({ min: 1, max: 3 }),
  tag: fc.constantFrom("red", "green"),
  tags: fc.subarray(["red", "green", "blue"]),
  taskQueue: fc.constant("default"),
  queue: fc.constant("default"),
  idPrefix: fc.constantFrom("live", "a"),
  priority: fc.integer({ min: -5, max: 5 }),
  payload: fc.integer({ min: 0, max: 9 }),
  reason: fc.string(),
  eventId: fc.uuid(),
  timeZone: fc.constant(undefined),
  maxInstances: fc.integer({ min: 1, max: 5 }),
  maxSteps: fc.integer({ min: 1, max: 5 }),
  concurrency: fc.constantFrom(1, 3, "Infinity", [2], [null]),
  rateLimit: fc.constant(undefined),
  dialect: fc.constant("cloudflare"),
  instances: fc.array(fc.record({ type: fc.constantFrom("counter", "failing"), payload: fc.nat(9) }), { maxLength: 4 }),
}

function queryOf({ query }: Operation): fc.Arbitrary<Record<string, unknown>> {
  return (
    fc
      .record(Object.fromEntries(query.map(({ name, schema }) => [name, fc.option(meanings[name] ?? arbitraryOf(schema), { nil: undefined, freq: 1 })])))
      .map(present)
      // The statuses of the two are named differently, and the document does not say which go together.
      .map(({ status, ...query }) => (query["dialect"] === undefined && status !== undefined ? { ...query, status } : query))
  )
}

function bodyOf({ name }: Operation, schema: JsonSchema): fc.Arbitrary<unknown> {
  return arbitraryOf(schema).map((body) => inContext(name, body))
}

/** Adjusts members that are valid only together. */
function inContext(name: string, body: unknown): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body
  const { delay, startAt, cron: _, every: __, timeZone: ___, paused: ____, ...rest } = body as Record<string, unknown>
  if (name === "createSchedule") return { ...rest, every: "1h", paused: true }
  if (name === "updateSchedule") return { ...rest, every: "2h" }
  if (name === "backfillSchedule") return { from: 1_767_200_000_000, to: 1_767_225_600_000, overlap: "allow" }
  if (name.startsWith("setLimits")) return { concurrency: rest["concurrency"] ?? 2 }
  if (name === "sendOrStart") return { payload: rest["payload"], start: { type: "counter", payload: 1 } }
  if (name.startsWith("sendEventOf")) return { ...rest, type: "note" }
  const payload = { greet: { name: "Ada" }, counter: 1 }[String(rest["type"])] ?? rest["payload"]
  const when = delay === undefined ? { startAt } : { delay }
  return present({ ...rest, ...(payload === undefined ? undefined : { payload }), ...(delay === undefined && startAt === undefined ? undefined : when) })
}

function arbitraryOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { type, properties, required = [], items, anyOf, enum: values, minimum, maximum, maxItems } = schema
  if (anyOf) return fc.oneof(...anyOf.map(arbitraryOf))
  if (values) return fc.constantFrom(...values)
  switch (type) {
    case "object":
      return fc
        .record(
          Object.fromEntries(
            Object.entries(properties ?? {}).map(([key, value]) => {
              const member = meanings[key] ?? arbitraryOf(value)
              return [key, required.includes(key) ? member : fc.option(member, { nil: undefined, freq: 1 })]
            }),
          ),
        )
        .map(present)
    case "array":
      return fc.array(arbitraryOf(items ?? {}), { maxLength: Math.min(maxItems ?? 4, 4) })
    case "integer":
      return fc.integer({ min: minimum ?? 0, max: Math.min(maximum ?? 1_000, 1_000) })
    case "number":
      return fc.integer({ min: minimum ?? 0, max: maximum ?? 1_000 })
    case "boolean":
      return fc.boolean()
    case "null":
      return fc.constant(null)
    case "string":
      return fc.uuid()
    default:
      return fc.jsonValue()
  }
}

function present(record: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record as object).filter(([, value]) => value !== undefined))
}
