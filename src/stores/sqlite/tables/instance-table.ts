import type { Delivery, Directory } from "../../../ports/directory.ts"
import type { InstanceRow, NewMessage, Turn } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import type { InboxTable } from "./inbox-table.ts"
import { InstanceRemover } from "./instance-remover.ts"
import { instanceColumns, toInstanceRow } from "./instance-row.ts"
import { typedInstanceRow } from "../object/object-instance-row.ts"
import { refusedOr, takesFirst } from "../../shared/first-event.ts"
import { toText } from "../../shared/unsafe-text.ts"
import type { SqliteTables } from "../sqlite-components.ts"
import type { TurnTable } from "./turn-table.ts"
import type { TurnFlow } from "./turn-flow-port.ts"

/** The methods of a directory on single instances, by id. A Durable Object has only these for its own database. */
export class InstanceTable implements Pick<Directory, "deliver" | "deliverOrCreate" | "get" | "remove"> {
  readonly #driver: SqlDriver
  readonly #now: () => number
  readonly #inbox: InboxTable
  readonly #turns: TurnTable
  readonly #flow: TurnFlow
  readonly #remover: InstanceRemover
  readonly #get: SqlStatement

  constructor({ driver, now, inbox, turns, flow, tasks }: SqliteTables) {
    this.#driver = driver
    this.#now = now
    this.#inbox = inbox
    this.#turns = turns
    this.#flow = flow
    this.#remover = new InstanceRemover(driver, inbox, tasks)
    this.#get = driver.prepare(`SELECT ${instanceColumns} FROM perdure_instance i WHERE i.id = ?`)
  }

  async deliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]> {
    if (messages.length === 0) return []
    const now = this.#now()
    return this.#driver.transaction(() => messages.map((message) => this.#inbox.deliver(message, now)))
  }

  async deliverOrCreate(message: NewMessage, create: Turn): Promise<Delivery | "created"> {
    const now = this.#now()
    try {
      return this.#flow.transaction(() => {
        if (!takesFirst(create, message)) return refusedOr(this.#inbox.deliver(message, now))
        this.#turns.begin()
        const existed = this.#get.get(toText(create.instance)) !== undefined
        const created = this.#turns.write(create) === "committed"
        // If this call repeats one with an unknown outcome, the message was stored together with the creation.
        const delivery = existed && created ? "created" : this.#inbox.deliver(message, now)
        return created ? "created" : delivery
      })
    } catch (error) {
      this.#turns.clearCache()
      throw error
    }
  }

  async get(id: string): Promise<InstanceRow | undefined> {
    const only = this.#driver.isSmall === true ? typedInstanceRow(this.#driver) : undefined
    if (only?.id === id) return only
    const row = this.#get.get(toText(id))
    return row === undefined ? undefined : toInstanceRow(row)
  }

  async remove(ids: readonly string[]): Promise<readonly string[]> {
    try {
      return this.#driver.transaction(() => this.#remover.remove(ids))
    } finally {
      this.#turns.clearCache()
    }
  }
}
