import type { PostgresClient } from "../connection/pg.ts"

/** The part of `pg`'s connections that a query of one's own speaks to, as pg-cursor does. */
interface Wire {
  readonly stream: { cork?(): void; uncork?(): void }
  /** By their names, the texts of statements that the server has parsed, whatever came of them then. `pg` notes those of queries that have both. */
  readonly parsedStatements: Readonly<Record<string, string>>
  parse(statement: { readonly name: string; readonly text: string }): void
  bind(statement: { readonly statement: string; readonly values: readonly (string | null)[] }): void
  execute(portal: object): void
  sync(): void
}

/**
 * A prepared statement that answers one text. It is what `pg` takes in the place of its own queries, without what those are for: nothing asks what the
 * columns are, and nothing makes objects of rows. For statements on whose way everything is cold, less code is less time.
 */
export class LoneQuery {
  /** Set to another by `pg`, which no longer waits after its time limit. */
  callback: (error?: Error | null) => void
  answer: string | null = null
  readonly name: string
  readonly text: string
  readonly #values: readonly (string | null)[]

  constructor(name: string, text: string, values: readonly (string | null)[], callback: (error?: Error | null) => void) {
    this.name = name
    this.text = text
    this.#values = values
    this.callback = callback
  }

  sendTo(client: PostgresClient): void {
    ;(client as unknown as { query(query: LoneQuery): unknown }).query(this)
  }

  submit(wire: Wire): null {
    // In one packet.
    wire.stream.cork?.()
    try {
      const { name, text } = this
      if (wire.parsedStatements[name] === undefined) wire.parse({ name, text })
      wire.bind({ statement: name, values: this.#values })
      wire.execute(noPortal)
      wire.sync()
    } finally {
      wire.stream.uncork?.()
    }
    return null
  }

  handleRowDescription(): void {}

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.answer = fields.at(-1) ?? null
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.callback()
  }

  handlePortalSuspended(): void {}

  handleEmptyQuery(): void {}
}

const noPortal = {}
