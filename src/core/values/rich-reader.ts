import { fromBase64 } from "./base64.ts"
import { stands, textTypes, viewTypes } from "./rich-types.ts"

/** Functions that make values of added types from their stored form, by the name of the type. */
export type Revivers = Readonly<Record<string, (stored: never) => unknown>>

type Listed = string | number | boolean | null | readonly unknown[] | Readonly<Record<string, number>>

const platform = globalThis as unknown as Readonly<Record<string, new (...args: readonly unknown[]) => unknown>>

/**
 * Reads the text of `RichWriter`. The text may come from an attacker: the reader refuses wrong text, and no value takes more memory than the length of the
 * text justifies.
 */
export class RichReader {
  readonly #revivers: Revivers
  readonly #list: readonly Listed[]
  readonly #root: number
  readonly #made = new Map<number, unknown>()
  /** The values that revivers are waiting for. */
  readonly #reviving = new Set<number>()

  constructor(text: string, revivers: Revivers) {
    const list = JSON.parse(text) as readonly Listed[] | number
    this.#revivers = revivers
    this.#list = Array.isArray(list) ? list : []
    this.#root = Array.isArray(list) ? 0 : (list as number)
  }

  read(): unknown {
    return this.#at(this.#root)
  }

  #at(place: unknown): unknown {
    for (const [standing, own] of stands) if (place === standing) return own
    if (typeof place !== "number" || !Object.hasOwn(this.#list, place)) throw invalid()
    if (this.#made.has(place)) return this.#made.get(place)
    const listed = this.#list[place] as Listed
    if (typeof listed !== "object" || listed === null) return this.#keep(place, listed)
    if (!Array.isArray(listed)) return this.#record(this.#keep(place, {}), Object.entries(listed).flat())
    const [type, ...rest] = listed as readonly unknown[]
    if (typeof type === "string") return this.#typed(place, type, rest)
    return type === -7 ? this.#sparse(place, rest) : this.#array(place, listed)
  }

  /** Stores a container before its members are made, because they may refer to it. */
  #keep<T>(place: number, value: T): T {
    this.#made.set(place, value)
    return value
  }

  #typed(place: number, type: string, [first, ...more]: readonly unknown[]): unknown {
    if (Object.hasOwn(this.#revivers, type)) return this.#revived(place, type, first)
    if (viewTypes.has(type)) {
      const listed = this.#list[first as number]
      if (!Array.isArray(listed) || listed[0] !== "ArrayBuffer") throw invalid()
      return this.#keep(place, new platform[type]!(this.#at(first), ...more))
    }
    switch (type) {
      case "null":
        return this.#record(this.#keep(place, Object.create(null) as object), first === undefined ? [] : [first, ...more])
      case "Set": {
        const set = this.#keep(place, new Set())
        if (first !== undefined) for (const member of [first, ...more]) set.add(this.#at(member))
        return set
      }
      case "Map": {
        const map = this.#keep(place, new Map())
        const members = [first, ...more]
        if (first !== undefined) for (let at = 0; at < members.length; at += 2) map.set(this.#at(members[at]), this.#at(members[at + 1]))
        return map
      }
      case "Object":
        return this.#keep(place, this.#boxed(first))
    }
    if (typeof first !== "string") throw invalid()
    return this.#keep(place, madeOf(type, first, more))
  }

  /** An error that refers to itself is revived first with the fields that are known, and again with all fields. */
  #revived(place: number, type: string, stored: unknown): unknown {
    const index = stored as number
    const revive = this.#revivers[type] as (value: unknown) => unknown
    if (this.#made.has(index)) return this.#keep(place, revive(this.#made.get(index)))
    if (this.#reviving.has(index)) throw invalid()
    this.#reviving.add(index)
    const value = this.#at(index)
    this.#reviving.delete(index)
    return this.#keep(place, revive(value))
  }

  /** The primitive inside a boxed object. Any other value is refused. */
  #boxed(place: unknown): unknown {
    const listed = this.#list[place as number]
    if (typeof listed === "object" && !(Array.isArray(listed) && listed[0] === "BigInt")) throw invalid()
    const value = this.#at(place)
    if (value === undefined) throw invalid()
    return Object(value) as unknown
  }

  #record(record: object, members: readonly unknown[]): object {
    for (let at = 0; at < members.length; at += 2) {
      const key = members[at]
      if (typeof key !== "string" || key === "__proto__") throw invalid()
      ;(record as Record<string, unknown>)[key] = this.#at(members[at + 1])
    }
    return record
  }

  #array(place: number, members: readonly unknown[]): unknown[] {
    const array = this.#keep<unknown[]>(place, [])
    array.length = members.length
    for (const [at, member] of members.entries()) if (member !== -2) array[at] = this.#at(member)
    return array
  }

  /** Reads a sparse array. Its highest index is set once, so that the platform stores the array by members and its memory does not depend on the length. */
  #sparse(place: number, [length, ...members]: readonly unknown[]): unknown[] {
    const array: unknown[] = []
    array[2 ** 32 - 2] = undefined
    Reflect.deleteProperty(array, 2 ** 32 - 2)
    if (!isCount(length, 2 ** 32)) throw invalid()
    array.length = length
    this.#keep(place, array)
    for (let at = 0; at < members.length; at += 2) {
      const index = members[at]
      if (!isCount(index, array.length)) throw invalid()
      array[index] = this.#at(members[at + 1])
    }
    return array
  }
}

function madeOf(type: string, text: string, more: readonly unknown[]): unknown {
  if (type === "BigInt") return BigInt(text)
  if (type === "Date") return new Date(text)
  if (type === "RegExp") return new RegExp(text, more[0] as string | undefined)
  if (type === "ArrayBuffer") return bytesOf(text)
  if (!textTypes.test(type)) throw new Error(`it has a value of type ${JSON.stringify(type)}, which is not known`)
  const [space, name] = type.split(".")
  if (name === undefined) return new platform[type]!(text)
  return (platform[space as string] as unknown as Record<string, { from(text: string): unknown }>)[name]!.from(text)
}

function bytesOf(base64: string): ArrayBuffer {
  const bytes = fromBase64(base64)
  if (bytes === undefined) throw invalid()
  return bytes.buffer
}

function isCount(value: unknown, end: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < end
}

function invalid(): Error {
  return new Error("it is not in the form of a stored value")
}
