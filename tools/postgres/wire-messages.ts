// Messages of PostgreSQL's protocol, as far as the proxy reads them: a byte with the type, then the length of the rest, which includes the length itself.

const codeOf = (letter: string) => letter.charCodeAt(0)

export const messageTypes = {
  query: codeOf("Q"),
  bind: codeOf("B"),
  sync: codeOf("S"),
  readyForQuery: codeOf("Z"),
  parseComplete: codeOf("1"),
} as const

/** Splits a stream into whole messages. The first message of a client has no type. */
export class MessageReader {
  #rest: Buffer = Buffer.alloc(0)
  #isUntyped: boolean

  constructor(isClient: boolean) {
    this.#isUntyped = isClient
  }

  read(bytes: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const messages: Buffer[] = []
    for (;;) {
      const typeBytes = this.#isUntyped ? 0 : 1
      if (this.#rest.length < typeBytes + 4) return messages
      const end = typeBytes + this.#rest.readInt32BE(typeBytes)
      if (this.#rest.length < end) return messages
      messages.push(this.#rest.subarray(0, end))
      this.#rest = this.#rest.subarray(end)
      this.#isUntyped = false
    }
  }
}

/** The statement that a message executes: its text, or the name under which it was prepared. */
export function statementOf(message: Buffer): string | undefined {
  const text = (from: number) => message.toString("utf8", from, message.indexOf(0, from))
  if (message[0] === messageTypes.query) return text(5)
  // The name of the portal comes first.
  if (message[0] === messageTypes.bind) return text(message.indexOf(0, 5) + 1)
  return undefined
}

export function rollback(): Buffer {
  return typed("Q", Buffer.from("ROLLBACK\0"))
}

/** The answer to a statement that failed. The session continues without a transaction. */
export function refusal(sqlState: string): Buffer {
  const fields = [`SERROR`, `VERROR`, `C${sqlState}`, `Man error that a test asked for`]
  return Buffer.concat([typed("E", Buffer.from(`${fields.join("\0")}\0\0`)), typed("Z", Buffer.from("I"))])
}

/** The message of a server that shuts down. */
export function farewell(): Buffer {
  const fields = ["SFATAL", "VFATAL", "C57P01", "Mterminating connection due to administrator command"]
  return typed("E", Buffer.from(`${fields.join("\0")}\0\0`))
}

function typed(letter: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head[0] = codeOf(letter)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
