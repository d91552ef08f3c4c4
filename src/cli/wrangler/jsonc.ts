/** The text is no JSON. The place is where the parser gave up; lines and columns begin at 1. */
export class JsoncError extends Error {
  override readonly name = "JsoncError"
  readonly line: number
  readonly column: number

  constructor(message: string, line: number, column: number) {
    super(message)
    this.line = line
    this.column = column
  }
}

/** Parses JSON that may have comments and trailing commas, which `JSON.parse` refuses. Throws a `JsoncError`. */
export function parseJsonc(text: string): unknown {
  return new JsoncParser(text).document()
}

const words = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["null", null],
])

class JsoncParser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text.startsWith("\uFEFF") ? text.slice(1) : text
  }

  document(): unknown {
    const value = this.#value()
    this.#skip()
    if (this.#at < this.#text.length) throw this.#error(`${this.#found()} comes after the end of the document`)
    return value
  }

  #value(): unknown {
    this.#skip()
    const next = this.#text[this.#at]
    if (next === "{") return this.#object()
    if (next === "[") return this.#array()
    if (next === '"') return this.#string()
    return this.#literal()
  }

  #object(): Record<string, unknown> {
    const object: Record<string, unknown> = {}
    this.#at++
    for (;;) {
      if (this.#take("}")) return object
      if (this.#text[this.#at] !== '"') throw this.#error(`a name in double quotes or } should be here, not ${this.#found()}`)
      const key = this.#string()
      if (!this.#take(":")) throw this.#error(`: should be here, after ${JSON.stringify(key)}, not ${this.#found()}`)
      // A key such as "__proto__" is an ordinary one.
      Object.defineProperty(object, key, { value: this.#value(), enumerable: true, configurable: true, writable: true })
      if (!this.#take(",") && this.#peek() !== "}") throw this.#error(`, or } should be here, not ${this.#found()}`)
    }
  }

  #array(): unknown[] {
    const array: unknown[] = []
    this.#at++
    for (;;) {
      if (this.#take("]")) return array
      array.push(this.#value())
      if (!this.#take(",") && this.#peek() !== "]") throw this.#error(`, or ] should be here, not ${this.#found()}`)
    }
  }

  #string(): string {
    const quoted = /"(?:[^"\\\n\r]|\\[^\n\r])*"/y
    quoted.lastIndex = this.#at
    const [found] = quoted.exec(this.#text) ?? []
    if (found === undefined) throw this.#error("this text has no closing quote")
    return this.#parsed(found) as string
  }

  #literal(): unknown {
    const word = /[^\s,:{}[\]"/]+/y
    word.lastIndex = this.#at
    const [found] = word.exec(this.#text) ?? []
    if (found === undefined) throw this.#error(`a value should be here, not ${this.#found()}`)
    return words.has(found) ? this.#move(found, words.get(found)) : this.#parsed(found)
  }

  /** A number or a text, in the grammar of JSON. */
  #parsed(found: string): unknown {
    let value: unknown
    try {
      value = JSON.parse(found)
    } catch {
      throw this.#error(`${found} is no JSON`)
    }
    return this.#move(found, value)
  }

  #move<T>(found: string, value: T): T {
    this.#at += found.length
    return value
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false
    this.#at++
    this.#skip()
    return true
  }

  #peek(): string | undefined {
    this.#skip()
    return this.#text[this.#at]
  }

  /** Skips white space and comments. */
  #skip(): void {
    const blank = /(?:\s|\/\/[^\n\r]*|\/\*[^]*?\*\/)*/y
    blank.lastIndex = this.#at
    this.#at += blank.exec(this.#text)?.[0].length ?? 0
    if (this.#text.startsWith("/*", this.#at)) throw this.#error("this comment has no end")
  }

  #found(): string {
    const next = this.#text[this.#at]
    return next === undefined ? "the end of the file" : JSON.stringify(next)
  }

  #error(message: string): JsoncError {
    const before = this.#text.slice(0, this.#at).split("\n")
    return new JsoncError(message, before.length, (before.at(-1) ?? "").length + 1)
  }
}
