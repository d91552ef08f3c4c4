import type { Client, InstanceDescription } from "../client-api/client-api.ts"
import type { HttpSettings } from "./settings.ts"
import type { Fields, InferFields, Schema } from "./schema.ts"

/**
 * A route is data: the app, the validation and the OpenAPI document are all derived from the one table of them, so that they
 * cannot differ.
 */
export interface Route {
  readonly method: Method
  /** `/workflows/:id/pause`. A path with `:workflow` and `:id` answers 404 where the instance is of another workflow. */
  readonly path: string
  /** Unique; the operation's id in the OpenAPI document. */
  readonly name: string
  readonly summary: string
  readonly tag: string
  /** What the caller has to be allowed to do; empty: open to everybody. */
  readonly actions: readonly Action[]
  readonly query?: Fields
  readonly body?: RequestBody
  /** Header that is read, as in the document. */
  readonly headers?: Readonly<Record<string, string>>
  readonly answers: Readonly<Record<number, AnswerSpec>>
  /** Statuses of errors, beside those that every route may have. */
  readonly errors: readonly number[]
  /** Which workflows the body is about: `authorize` is told. */
  readonly workflowsOf?: (body: unknown) => readonly string[]
  readonly handle: (call: Call<string, Fields, unknown>) => Promise<Answer | Response>
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
/** What a request does, for `authorize`: each route has one or more of these. The guide "HTTP" lists them. */
export type Action = "read" | "create" | "manage" | "delete" | "sendEvent" | "query" | "update" | "schedule" | "tick"

export interface RequestBody {
  readonly schema: Schema<unknown>
  /** Else there may be none, and then it is undefined. */
  readonly required: boolean
  readonly description?: string
}

export interface AnswerSpec {
  readonly description: string
  /** None: no body. */
  readonly schema?: Schema<unknown>
  readonly type?: "text/event-stream"
}

export interface Answer {
  readonly status: number
  readonly value?: unknown
  /** The value is a user's, such as a result, and not a document that has some: it is sent whole or not at all. */
  readonly isValue?: true
  /** It has no body, not even for undefined. */
  readonly isEmpty?: true
}

export interface Call<Params extends string, Query extends Fields, Body> {
  readonly client: Client
  readonly settings: HttpSettings
  readonly request: Request
  readonly params: Readonly<Record<Params, string>>
  readonly query: InferFields<Query>
  readonly body: Body
  /** Of the instance that the path names; read once. */
  readonly describe: () => Promise<InstanceDescription>
  /** HEAD: nobody looks at the body. */
  readonly isHead: boolean
  /** Closes the caller's connection at once; undefined where the server gives no way to. */
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

/** Checks the handler against what the route says of its parameters and body. */
export function route<const Path extends string, Query extends Fields = Record<never, never>, Body = undefined>(spec: RouteSpec<Path, Query, Body>): Route {
  return { errors: [], ...spec } as unknown as Route
}

export const ok = (value: unknown): Answer => ({ status: 200, value })
/** A value of a user as the body. */
export const okValue = (value: unknown): Answer => ({ status: 200, value, isValue: true })
export const created = (value: unknown): Answer => ({ status: 201, value })
export const noContent: Answer = { status: 204, isEmpty: true }

/** A body that has to be there. */
export const required = <T>(schema: Schema<T>, description?: string): RequestBody & { readonly schema: Schema<T> } => ({
  schema,
  required: true,
  ...(description === undefined ? undefined : { description }),
})

/** A body that may be left out. */
export const maybe = <T>(schema: Schema<T>, description?: string): RequestBody & { readonly schema: Schema<T | undefined> } => ({
  schema,
  required: false,
  ...(description === undefined ? undefined : { description }),
})
