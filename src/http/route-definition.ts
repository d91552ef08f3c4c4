import type { Client, InstanceDescription } from "../client-api/client-api.ts"
import type { HttpSettings } from "./settings.ts"
import type { Fields, InferFields, Schema } from "./schema.ts"

/**
 * A route is data: the app, the validation and the OpenAPI document are derived from one table of routes, so they cannot differ.
 */
export interface Route {
  readonly method: Method
  /** Such as `/workflows/:id/pause`. A path with `:workflow` and `:id` answers 404 if the instance belongs to another workflow. */
  readonly path: string
  /** The unique id of the operation in the OpenAPI document. */
  readonly name: string
  readonly summary: string
  readonly tag: string
  /** The actions that the caller must be allowed to do; empty: the route is open to everybody. */
  readonly actions: readonly Action[]
  readonly query?: Fields
  readonly body?: RequestBody
  /** The headers that the route reads, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>
  readonly answers: Readonly<Record<number, AnswerSpec>>
  /** The statuses of its errors, besides those that every route may have. */
  readonly errors: readonly number[]
  /** The workflows that the body names, for `authorize`. */
  readonly workflowsOf?: (body: unknown) => readonly string[]
  readonly handle: (call: Call<string, Fields, unknown>) => Promise<Answer | Response>
  /** The route in the words of other APIs, by the value of the query parameter `dialect`. */
  readonly dialects?: Readonly<Record<string, RouteDialect>>
}

/** What a dialect changes at a route. The handler gets the native id of the instance. */
export interface RouteDialect extends Pick<Route, "query" | "body" | "answers" | "handle"> {
  /** The native id of an instance, for the id in the path. */
  readonly nativeId: (workflow: string, id: string) => string
  /** The error as the dialect gives it. */
  readonly errorOf: (error: unknown) => unknown
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
/** What a request does, for `authorize`: each route has one or more of these. The guide "HTTP" lists them. */
export type Action = "read" | "create" | "manage" | "delete" | "sendEvent" | "query" | "update" | "schedule" | "tick" | "work"

export interface RequestBody {
  readonly schema: Schema<unknown>
  /** False: the body may be missing, and is then undefined. */
  readonly required: boolean
  readonly description?: string
}

export interface AnswerSpec {
  readonly description: string
  /** Undefined: the answer has no body. */
  readonly schema?: Schema<unknown>
  readonly type?: "text/event-stream"
}

export interface Answer {
  readonly status: number
  readonly value?: unknown
  /** The value is a user's value, such as a result, and not a document with values: it is sent whole or not at all. */
  readonly isValue?: true
  /** The answer has no body, also not for undefined. */
  readonly isEmpty?: true
}

export interface Call<Params extends string, Query extends Fields, Body> {
  readonly client: Client
  readonly settings: HttpSettings
  readonly request: Request
  readonly params: Readonly<Record<Params, string>>
  readonly query: InferFields<Query>
  readonly body: Body
  /** Describes the instance that the path names. The description is read once. */
  readonly describe: () => Promise<InstanceDescription>
  /** The method is HEAD, so the answer has no body. */
  readonly isHead: boolean
  /** Closes the caller's connection at once; undefined: the server cannot do this. */
  readonly disconnect: (() => void) | undefined
}

type ParamsOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamsOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

interface RouteSpec<Path extends string, Query extends Fields, Body> extends Omit<Route, "path" | "query" | "body" | "handle" | "errors" | "workflowsOf"> {
  readonly path: Path
  readonly query?: Query
  readonly body?: RequestBody & { readonly schema: Schema<Body> }
  readonly errors?: readonly number[]
  readonly workflowsOf?: (body: Body) => readonly string[]
  readonly handle: (call: Call<ParamsOf<Path>, Query, Body>) => Promise<Answer | Response>
}

/** The compiler checks the handler against the parameters and the body of the route. */
export function route<const Path extends string, Query extends Fields = Record<never, never>, Body = undefined>(spec: RouteSpec<Path, Query, Body>): Route {
  return { errors: [], ...spec } as unknown as Route
}

export const ok = (value: unknown): Answer => ({ status: 200, value })
/** An answer whose body is a user's value. */
export const okValue = (value: unknown): Answer => ({ status: 200, value, isValue: true })
export const created = (value: unknown): Answer => ({ status: 201, value })
export const noContent: Answer = { status: 204, isEmpty: true }

/** A body that must be present. */
export const required = <T>(schema: Schema<T>, description?: string): RequestBody & { readonly schema: Schema<T> } => ({
  schema,
  required: true,
  ...(description === undefined ? undefined : { description }),
})

/** A body that may be missing. */
export const maybe = <T>(schema: Schema<T>, description?: string): RequestBody & { readonly schema: Schema<T | undefined> } => ({
  schema,
  required: false,
  ...(description === undefined ? undefined : { description }),
})
