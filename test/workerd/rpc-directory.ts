import { evictDurableObject, runInDurableObject } from "cloudflare:test"
import type { DurableObjectStub } from "cloudflare:workers"
import type { ObjectNamespace } from "perdure/cloudflare"
import { decodeAnswer, encodeCall } from "../../src/cloudflare/objects/instance-rpc-methods.ts"
import { type RunnerStub, StubNetwork } from "../../src/cloudflare/objects/object-rpc.ts"
import type { Directory } from "../../src/ports/directory.ts"
import type { InboxPart, JournalStore, Message, Turn, TurnOutcome } from "../../src/ports/journal-store.ts"
import type { Store, StoreProvider } from "../../src/ports/store.ts"
import { ObjectStore } from "../../src/cloudflare/store/object-store.ts"
import { ShardedIndex } from "../../src/cloudflare/store/sharded-index.ts"
import { ShardLayout } from "../../src/cloudflare/store/shard-layout.ts"
import { ObjectDatabase, objectTables } from "../../src/stores/sqlite/object/object-database.ts"
import { ObjectSqlDriver } from "../../src/stores/sqlite/object/object-sql-driver.ts"
import type { ObjectStorage } from "../../src/stores/sqlite/object/object-storage.ts"
import { objectTableDefinitions, SqliteObjectTables } from "../../src/stores/sqlite/object/object-instance-tables.ts"
import { SqliteFlowTransaction } from "../../src/stores/sqlite/tables/flow-transaction.ts"
import { until } from "./eventually.ts"

/**
 * The store of an object without an instance: every call goes to another object over RPC. Later turns, which only
 * the engine in an instance's object writes, are written in that object, as its engine would.
 */
export function rpcDirectory(binding: ObjectNamespace, indexShards: number): StoreProvider {
  return {
    name: "over RPC",
    open: async (context) => {
      const network = new StubNetwork(() => binding)
      const overview = new ShardedIndex(new ShardLayout({ indexShards }), (name) => network.shard(name))
      const none = new Proxy({} as Store, { get: () => undefined })
      const nothing = () => undefined
      const edge = new ObjectStore({
        database: none,
        directory: none.directory,
        sentTasks: { open: () => [], find: async () => [], depths: async () => [], workers: async () => [] },
        keys: { withKeys: async () => undefined },
        transactions: { transact: async () => "lost" },
        changes: none.directory,
        ownId: nothing,
        network,
        flow: none.flow,
        isThere: () => true,
        beforeFirstWrite: nothing,
        afterWrite: nothing,
      })
      const instances = new Instances(binding, context.now)
      const journal: Pick<JournalStore, "commit" | "readJournal" | "readInbox"> = {
        commit: async (turns) => {
          const outcomes: TurnOutcome[] = []
          for (const turn of turns) {
            const [outcome = "lost"] = turn.create ? await edge.journal.commit([turn]) : [await instances.write(turn)]
            outcomes.push(outcome)
            instances.known.add(turn.instance)
          }
          return outcomes
        },
        readJournal: (id, from) => edge.journal.readJournal(id, from),
        readInbox: async (ids, part) =>
          (await Promise.all(ids.map((id, at) => instances.readInbox(id, part && { ...part, after: [part.after[at] ?? 0] })))).flat(),
      }
      const directory: Pick<Directory, "deliver" | "get" | "list" | "count" | "remove"> = {
        deliver: (messages) => edge.directory.deliver(messages),
        get: (id) => edge.directory.get(id),
        list: async (filter, page) => {
          await instances.indexed()
          return overview.list(filter, page)
        },
        count: async (filter, by) => {
          await instances.indexed()
          return overview.count(filter, by)
        },
        remove: (ids) => instances.remove(ids),
      }
      return { journal, directory, close: async () => undefined } as unknown as Store
    },
  }
}

class Instances {
  readonly known = new Set<string>()
  readonly #binding: ObjectNamespace
  readonly #now: () => number

  constructor(binding: ObjectNamespace, now: () => number) {
    this.#binding = binding
    this.#now = now
  }

  #stub(id: string): DurableObjectStub {
    return this.#binding.get(this.#binding.idFromName(id) as never) as DurableObjectStub
  }

  async write(turn: Turn): Promise<TurnOutcome> {
    const stub = this.#stub(turn.instance)
    // The engine of the object has an older state in memory, which must not overwrite this turn.
    await this.#isIndexed(turn.instance)
    await evictDurableObject(stub).catch(() => undefined)
    const outcome = await runInDurableObject(stub, async (_, { storage }) => {
      return (await this.#database(storage).journal.commit([turn]))[0] ?? "lost"
    })
    await evictDurableObject(stub)
    return outcome
  }

  /** Reads the inbox as the engine in the object does. */
  readInbox(id: string, part: InboxPart | undefined): Promise<readonly Message[]> {
    return runInDurableObject(this.#stub(id), (_, { storage }) => this.#database(storage).journal.readInbox([id], part))
  }

  #database(storage: ObjectStorage): ObjectDatabase {
    const driver = new ObjectSqlDriver(storage, objectTableDefinitions)
    const flow = new SqliteFlowTransaction(driver, this.#now)
    return new ObjectDatabase(driver, { role: "client" }, objectTables(driver, this.#now, flow, this.#tables(storage).turnObserver))
  }

  #tables(storage: ObjectStorage): SqliteObjectTables {
    return new SqliteObjectTables(new ObjectSqlDriver(storage, objectTableDefinitions), this.#now)
  }

  /** Waits for the index, which follows with a small delay. */
  async indexed(): Promise<void> {
    await Promise.all([...this.known].map((id) => this.#isIndexed(id)))
  }

  async #isIndexed(id: string): Promise<void> {
    let looks = 0
    await until(`the index knows ${id}`, async () => {
      if (!(await this.#hasNews(id))) return true
      // The alarm would wake the object a little later.
      if (++looks % 10 === 5) await runInDurableObject(this.#stub(id), (object) => (object as unknown as { alarm(): Promise<void> }).alarm())
      return false
    })
  }

  #hasNews(id: string): Promise<boolean> {
    return runInDurableObject(this.#stub(id), (_, { storage }) => {
      const { pendingUpTo, removed } = this.#tables(storage).indexBacklog()
      return pendingUpTo !== undefined || removed.length > 0
    })
  }

  /** Deletes ended instances, as a client does. */
  async remove(ids: readonly string[]): Promise<readonly string[]> {
    const removed: string[] = []
    for (const id of ids) {
      const isRemoved = await this.#delete(id).then(
        () => true,
        (error: { code?: string }) => {
          if (error.code === "NOT_FOUND" || error.code === "NOT_ENDED") return false
          throw error
        },
      )
      if (isRemoved) removed.push(id)
    }
    return removed
  }

  /** Deletes without the client's check of ids, because some cases use ids that no client accepts. */
  async #delete(id: string): Promise<void> {
    decodeAnswer(await (this.#stub(id) as unknown as RunnerStub).ask(id, "delete", encodeCall([])))
  }
}
