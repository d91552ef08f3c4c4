/**
 * Decides whether JSON.stringify and JSON.parse give a value back unchanged: a tree of plain objects and arrays, with strings, booleans, null and
 * numbers that JSON has. The check runs for every stored value, so it gives up early.
 */

/** Deeper values get the rich form, whose writer tells cycles from depth. */
const depthMax = 64

/** `unitsMax`: a value whose strings and keys have more UTF-16 units does not count as plain, because JSON repeats a string at each of its places. */
export function isPlainJson(value: unknown, unitsMax = Infinity): boolean {
  const seen = new Seen()
  return isPlain(value, depthMax, seen) && seen.units <= unitsMax
}

function isPlain(value: unknown, depth: number, seen: Seen): boolean {
  switch (typeof value) {
    case "string":
      seen.units += value.length
      return true
    case "boolean":
      return true
    case "number":
      return Number.isFinite(value) && (value !== 0 || 1 / value > 0)
    case "object":
      if (value === null) return true
      if (depth === 0 || !seen.add(value)) return false
      return Array.isArray(value) ? isPlainArray(value, depth - 1, seen) : isPlainObject(value as PlainObject, depth - 1, seen)
    default:
      return false
  }
}

type PlainObject = Readonly<Record<string, unknown>>

/** An array with holes is not plain, because a hole reads as undefined. */
function isPlainArray(array: readonly unknown[] & { toJSON?: unknown }, depth: number, seen: Seen): boolean {
  if (Object.getPrototypeOf(array) !== Array.prototype || array.toJSON !== undefined) return false
  for (let i = 0; i < array.length; i++) if (!isPlain(array[i], depth, seen)) return false
  return true
}

/** `toJSON` is looked up by name, because JSON.stringify also calls one that is not enumerable. */
function isPlainObject(object: PlainObject, depth: number, seen: Seen): boolean {
  if (Object.getPrototypeOf(object) !== Object.prototype || object["toJSON"] !== undefined) return false
  const keys = Object.keys(object)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string
    seen.units += key.length
    if (key === "__proto__" || !isPlain(object[key], depth, seen)) return false
  }
  return Object.getOwnPropertySymbols(object).length === 0
}

/** The objects that the check has met. An object that is met twice is not in a tree. Most values have few objects, for which a scan is faster than a Set. */
class Seen {
  /** The UTF-16 units of all strings and keys so far. */
  units = 0
  private first: object | undefined = undefined
  private few: object[] | undefined = undefined
  private many: Set<object> | undefined = undefined

  /** Adds an object. False: it was met before. */
  add(value: object): boolean {
    if (this.many !== undefined) return this.many.size !== this.many.add(value).size
    if (this.first === undefined) {
      this.first = value
      return true
    }
    this.few ??= [this.first]
    if (this.few.includes(value)) return false
    this.few.push(value)
    if (this.few.length === 16) this.many = new Set(this.few)
    return true
  }
}
