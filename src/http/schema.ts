/**
 * The part of JSON Schema that the routes use. A schema is built together with the type that it describes, and checked here. So one description gives
 * the types of the handlers, the validation and the OpenAPI document.
 */

export interface JsonSchema {
  readonly type?: "string" | "number" | "integer" | "boolean" | "object" | "array" | "null"
  /** The schema becomes a component of the OpenAPI document, under this name. */
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema
  readonly maxItems?: number
  readonly enum?: readonly (string | number)[]
  readonly anyOf?: readonly JsonSchema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly format?: "date-time"
}

export interface Schema<T> {
  readonly json: JsonSchema
  readonly isOptional?: boolean
  /** For the compiler only. */
  readonly "~type"?: T
}

export interface OptionalSchema<T> extends Schema<T> {
  readonly isOptional: true
}

export type Fields = Readonly<Record<string, Schema<unknown>>>
type RequiredKeys<F extends Fields> = { [K in keyof F]: F[K] extends OptionalSchema<unknown> ? never : K }[keyof F]
export type Infer<S> = S extends Schema<infer T> ? T : never
export type InferFields<F extends Fields> = { readonly [K in RequiredKeys<F>]: Infer<F[K]> } & {
  readonly [K in Exclude<keyof F, RequiredKeys<F>>]?: Infer<F[K]>
}

const made = <T>(json: JsonSchema): Schema<T> => ({ json })

export const anything = (description?: string): Schema<unknown> => made(description === undefined ? {} : { description })
export const string = (rules: Omit<JsonSchema, "type"> = {}): Schema<string> => made({ type: "string", ...rules })
export const number = (rules: Omit<JsonSchema, "type"> = {}): Schema<number> => made({ type: "number", ...rules })
export const integer = (rules: Omit<JsonSchema, "type"> = {}): Schema<number> => made({ type: "integer", ...rules })
export const boolean = (rules: Omit<JsonSchema, "type"> = {}): Schema<boolean> => made({ type: "boolean", ...rules })
export const nothing = (): Schema<null> => made({ type: "null" })
export const oneOf = <const V extends string>(values: readonly V[], description?: string): Schema<V> =>
  made({ type: "string", enum: values, ...(description === undefined ? undefined : { description }) })
export const list = <T>(of: Schema<T>, rules: Omit<JsonSchema, "type" | "items"> = {}): Schema<readonly T[]> =>
  made({ type: "array", items: of.json, ...rules })
export const record = <T>(of: Schema<T>): Schema<Readonly<Record<string, T>>> => made({ type: "object", additionalProperties: of.json })
export const either = <const S extends readonly Schema<unknown>[]>(schemas: S, description?: string): Schema<Infer<S[number]>> =>
  made({ anyOf: schemas.map(({ json }) => json), ...(description === undefined ? undefined : { description }) })
export const optional = <T>(schema: Schema<T>): OptionalSchema<T> => ({ json: schema.json, isOptional: true })

/** An object that has no other fields. */
export function object<F extends Fields>(fields: F, title?: string): Schema<InferFields<F>> {
  const entries = Object.entries(fields)
  const required = entries.filter(([, { isOptional }]) => !isOptional).map(([key]) => key)
  return made({
    type: "object",
    ...(title === undefined ? undefined : { title }),
    properties: Object.fromEntries(entries.map(([key, { json }]) => [key, json])),
    ...(required.length > 0 ? { required } : undefined),
    additionalProperties: false,
  })
}

export interface SchemaIssue {
  /** The path as in code, such as `instances[2].id`; empty: the value itself. */
  readonly path: string
  readonly message: string
}

const issuesMax = 20

/** The faults of a value, which may come from JSON or from the rich form; empty: the value fits. */
export function issuesOf(schema: JsonSchema, value: unknown, path = ""): readonly SchemaIssue[] {
  const issues: SchemaIssue[] = []
  check(schema, value, path, issues)
  return issues.length > issuesMax ? issues.slice(0, issuesMax) : issues
}

function check(schema: JsonSchema, value: unknown, path: string, issues: SchemaIssue[]): void {
  const complain = (message: string) => void issues.push({ path, message })
  if (schema.anyOf) {
    const attempts = schema.anyOf.map((one) => issuesOf(one, value, path))
    if (attempts.some((found) => found.length === 0)) return
    // The faults of the most similar alternative say more than "no alternative fits".
    const ofItsType = schema.anyOf.findIndex((one) => one.type !== undefined && one.enum === undefined && isOfType(one, value))
    const nearest = attempts.find((found) => found.every((issue) => issue.path !== path)) ?? attempts[ofItsType]
    if (nearest) issues.push(...nearest)
    else complain(`must be ${schema.anyOf.map(shapeOf).join(" or ")}`)
    return
  }
  if (schema.type !== undefined && !isOfType(schema, value)) return complain(`must be ${shapeOf(schema)}`)
  if (schema.enum && !schema.enum.includes(value as string)) return complain(`must be ${shapeOf(schema)}`)
  if (typeof value === "string") checkString(schema, value, complain)
  else if (typeof value === "number") checkNumber(schema, value, complain)
  else if (Array.isArray(value)) checkArray(schema, value, path, issues, complain)
  else if (schema.type === "object") checkObject(schema, value as Readonly<Record<string, unknown>>, path, issues)
}

function isOfType(schema: JsonSchema, value: unknown): boolean {
  switch (schema.type) {
    case "integer":
      return Number.isSafeInteger(value)
    case "number":
      return typeof value === "number" && !Number.isNaN(value)
    case "array":
      return Array.isArray(value)
    case "null":
      return value === null
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value)
    case "string":
      // A value in the rich form may contain dates.
      return typeof value === "string" || (schema.format === "date-time" && value instanceof Date)
    default:
      return typeof value === schema.type
  }
}

function checkString({ minLength = 0, maxLength = Infinity }: JsonSchema, value: string, complain: (message: string) => void): void {
  if (value.length < minLength) complain(minLength === 1 ? "must not be empty" : `must have at least ${minLength} characters`)
  if (value.length > maxLength) complain(`must have at most ${maxLength} characters`)
}

function checkNumber({ minimum = -Infinity, maximum = Infinity }: JsonSchema, value: number, complain: (message: string) => void): void {
  if (value < minimum) complain(`must be at least ${minimum}`)
  if (value > maximum) complain(`must be at most ${maximum}`)
}

function checkArray(
  { items, maxItems = Infinity }: JsonSchema,
  value: readonly unknown[],
  path: string,
  issues: SchemaIssue[],
  complain: (message: string) => void,
): void {
  if (value.length > maxItems) return complain(`must have at most ${maxItems} items`)
  if (!items) return
  for (let index = 0; index < value.length && issues.length <= issuesMax; index++) check(items, value[index], `${path}[${index}]`, issues)
}

function checkObject(
  { properties = {}, required = [], additionalProperties = true }: JsonSchema,
  value: Readonly<Record<string, unknown>>,
  path: string,
  issues: SchemaIssue[],
): void {
  const at = (key: string) => (path === "" ? key : `${path}.${key}`)
  for (const key of required) if (value[key] === undefined) issues.push({ path: at(key), message: "is missing" })
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue
    const schema = Object.hasOwn(properties, key) ? properties[key] : additionalProperties
    if (schema === false) issues.push({ path: at(key), message: `is not known; the fields are ${Object.keys(properties).join(", ") || "none"}` })
    else if (typeof schema === "object") check(schema, item, at(key), issues)
    if (issues.length > issuesMax) return
  }
}

function shapeOf(schema: JsonSchema): string {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" or ")
  if (schema.anyOf) return schema.anyOf.map(shapeOf).join(" or ")
  if (schema.type === undefined) return "anything"
  return schema.type === "null" ? "null" : `${/^[aio]/.test(schema.type) ? "an" : "a"} ${schema.type}`
}

/** The value of the texts of a query parameter. A text that does not fit the type stays text, and the check reports it. */
export function fromTexts({ type, items, anyOf }: JsonSchema, texts: readonly string[]): unknown {
  if (type === "array") return texts.flatMap((text) => text.split(",")).map((text) => fromTexts(items ?? {}, [text]))
  if (texts.length > 1) return texts
  const text = texts[0] ?? ""
  const isNumeric = type === "integer" || type === "number" || anyOf?.some((one) => one.type === "integer" || one.type === "number") === true
  if (isNumeric && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true"
  return text
}
