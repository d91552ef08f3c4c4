import { toBase64 } from "./base64.ts"
import { quoted } from "../journal/json-text.ts"
import { viewTypes, stands, textTypes } from "./rich-types.ts"

/** Returns the stored form of a value of an added type. Undefined: the value has no added type. */
export type Reducer = (value: object) => { readonly type: string; readonly value: unknown } | undefined

export type Refusal = "type" | "promise" | "symbolKeys" | "protoKey"

/** A value that cannot be stored. */
export class Unstorable extends Error {
  readonly path: string
  readonly value: unknown
  readonly refusal: Refusal

  constructor(path: string, value: unknown, refusal: Refusal) {
    super(`${path} cannot be stored`)
    this.path = path
    this.value = value
    this.refusal = refusal
  }
}

/** One step of a path: into an object, an array, or a Map. */
type Step = string | number | readonly [unknown]

/**
 * Writes the form of the devalue package: a list of all values inside the root, with the root first. Values refer to other values by their place in the
 * list. A value that is in the list already is referred to again, so identity and cycles are kept.
 */
export class RichWriter {
  readonly #reduce: Reducer
  readonly #texts: string[] = []
  readonly #places = new Map<unknown, number>()
  /** The path to the value that is being written. */
  readonly #path: Step[] = []

  constructor(reduce: Reducer) {
    this.#reduce = reduce
  }

  write(root: unknown): string {
    const place = this.#put(root)
    return place < 0 ? String(place) : `[${this.#texts.join(",")}]`
  }

  /** The place of a value in the list. A negative number stands for the value itself. */
  #put(value: unknown): number {
    for (const [place, own] of stands) if (Object.is(value, own)) return place
    const known = this.#places.get(value)
    if (known !== undefined) return known
    const place = this.#places.size
    this.#places.set(value, place)
    this.#texts[place] = typeof value === "object" && value !== null ? this.#object(value) : this.#primitive(value)
    return place
  }

  /** Writes a member of a value. Each level takes few calls, so that deep values do not overflow the stack. */
  #inside(step: Step, value: unknown): number {
    this.#path.push(step)
    const place = this.#put(value)
    this.#path.pop()
    return place
  }

  #primitive(value: unknown): string {
    if (typeof value === "string") return quotedRich(value)
    if (typeof value === "bigint") return `["BigInt","${value}"]`
    if (typeof value === "function" || typeof value === "symbol") throw this.#refused(value, "type")
    return String(value)
  }

  #object(value: object): string {
    const reduced = this.#reduce(value)
    if (reduced) return `["${reduced.type}",${this.#put(reduced.value)}]`
    if (typeof (value as { then?: unknown }).then === "function") throw this.#refused(value, "promise")
    const tag = tagOf(value)
    switch (tag) {
      case "Number":
      case "String":
      case "Boolean":
      case "BigInt":
        return `["Object",${this.#put(value.valueOf())}]`
      case "Date":
        return `["Date","${Number.isNaN((value as Date).getTime()) ? "" : (value as Date).toISOString()}"]`
      case "RegExp": {
        const { source, flags } = value as RegExp
        return `["RegExp",${quotedRich(source)}${flags && `,"${flags}"`}]`
      }
      case "Array":
        return this.#array(value as readonly unknown[])
      case "Set": {
        let text = '["Set"'
        for (const member of value as Set<unknown>) text += `,${this.#put(member)}`
        return `${text}]`
      }
      case "Map": {
        let text = '["Map"'
        for (const [key, member] of value as Map<unknown, unknown>) text += `,${this.#inside([key], key)},${this.#inside([key], member)}`
        return `${text}]`
      }
      case "ArrayBuffer":
        return `["ArrayBuffer","${toBase64(new Uint8Array(value as ArrayBuffer))}"]`
    }
    if (viewTypes.has(tag)) return `["${tag}",${this.#put(bytesOf(value as ArrayBufferView))}]`
    if (textTypes.test(tag)) return `["${tag}",${quotedRich((value as { toString(): string }).toString())}]`
    return this.#record(value as Readonly<Record<string, unknown>>)
  }

  /** Writes either every hole or only the members between holes, whichever is shorter. */
  #array(array: readonly unknown[]): string {
    const { length } = array
    const filled = hasHoles(array) ? Object.keys(array).filter(isIndex) : undefined
    const digits = String(length).length
    if (filled && (length - filled.length) * 3 > 4 + digits + filled.length * (digits + 1)) {
      let text = `[-7,${length}`
      for (const key of filled) text += `,${key},${this.#inside(Number(key), array[Number(key)])}`
      return `${text}]`
    }
    let text = ""
    for (let at = 0; at < length; at++) text += `${at === 0 ? "[" : ","}${filled && !Object.hasOwn(array, at) ? -2 : this.#inside(at, array[at])}`
    return `${text || "["}]`
  }

  #record(value: Readonly<Record<string, unknown>>): string {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw this.#refused(value, "type")
    if (Object.getOwnPropertySymbols(value).some((key) => Object.prototype.propertyIsEnumerable.call(value, key))) throw this.#refused(value, "symbolKeys")
    let text = prototype === null ? '["null",' : "{"
    for (const key of Object.keys(value)) {
      if (key === "__proto__") throw this.#refused(value, "protoKey")
      text += `${quotedRich(key)}${prototype === null ? "," : ":"}${this.#inside(key, value[key])},`
    }
    const members = text.endsWith(",") ? text.slice(0, -1) : text
    return prototype === null ? `${members}]` : `${members}}`
  }

  #refused(value: unknown, refusal: Refusal): Unstorable {
    return new Unstorable(this.#path.map(shownStep).join(""), value, refusal)
  }
}

/** A string as in JSON, with further escapes so that it may stand in HTML and in old JavaScript. */
function quotedRich(text: string): string {
  return quoted(text).replaceAll("<", "\\u003C").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")
}

/** Whether the value is an instance of the class itself. An instance of a subclass has a longer prototype chain, and would come back as another type. */
const genuine = /^(?:Array|ArrayBuffer|Date|Map|RegExp|Set|URL|URLSearchParams)$/

function tagOf(value: object): string {
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  return genuine.test(tag) && prototypeCount(value) !== 2 ? "Object" : tag
}

function prototypeCount(value: object): number {
  let count = 0
  for (let at: unknown = Object.getPrototypeOf(value); at !== null; at = Object.getPrototypeOf(at)) count++
  return count
}

/** The bytes of a view only. The rest of its buffer may be large, or may belong to other code, because Node pools Buffers. */
export function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): ArrayBuffer {
  const isWhole = byteLength === buffer.byteLength && buffer instanceof ArrayBuffer
  return isWhole ? buffer : new Uint8Array(new Uint8Array(buffer, byteOffset, byteLength)).buffer
}

function hasHoles(array: readonly unknown[]): boolean {
  for (let at = 0; at < array.length; at++) if (!Object.hasOwn(array, at)) return true
  return false
}

/** The indexes of an array that have members. Other keys of the array are not stored. */
function isIndex(key: string): boolean {
  const index = Number(key) >>> 0
  return String(index) === key && index < 2 ** 32 - 1
}

function shownStep(step: Step): string {
  if (typeof step === "number") return `[${step}]`
  if (typeof step === "string") return /^[a-zA-Z_$][\w$]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
  const [key] = step
  if (typeof key === "string") return `.get(${quotedRich(key)})`
  return `.get(${typeof key === "number" || typeof key === "boolean" || typeof key === "bigint" ? key : "..."})`
}
