import fc from "fast-check"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { RowState, Turn } from "../../../ports/journal-store.ts"
import { completed, creation, event, found, turn } from "../../../testing/store-conformance/sample.ts"
import { fileTables } from "../file-components.ts"
import { migrate } from "../schema/migrate.ts"
import { NodeSqlDriver } from "../driver/node-sql-driver.ts"
import { migrations } from "../schema/schema.ts"
import { SqliteJournalStore } from "../sqlite-journal-store.ts"
import { inlineTextMax } from "../driver/text-chunks.ts"

let driver: NodeSqlDriver
let store: SqliteJournalStore

function opened() {
  const made = new NodeSqlDriver(":memory:", "")
  migrate(made, migrations)
  return { driver: made, store: new SqliteJournalStore(fileTables(made, () => 0)), [Symbol.dispose]: () => made.close() }
}

beforeEach(() => {
  ;({ driver, store } = opened())
})

afterEach(() => driver.close())

const ids = (count: number) => Array.from({ length: count }, (_, index) => `i${index}`)
const rows = () => driver.prepare(`SELECT status, due_at, end_position, updated_at FROM perdure_instance ORDER BY key`).all()
const sleeping = (dueAt: number): RowState => ({ status: "sleeping", run: 1, runPosition: 1, dueAt })
const written = () =>
  driver
    .prepare(`SELECT i.id || '@' || j.position AS row FROM perdure_journal j JOIN perdure_instance i ON i.key = j.instance ORDER BY j.seq`)
    .all()
    .map((row) => row["row"])
const outcomes = (count: number, outcome: "committed" | "lost") => Array.from({ length: count }, () => outcome)

describe("rows of the journal", () => {
  it("writes many turns in their order, also around a turn that is too large for its row", async () => {
    const all = ids(40)
    expect(await store.commit(all.map((id) => creation(id)))).toEqual(outcomes(40, "committed"))
    const large = `["${"x".repeat(inlineTextMax)}"]`
    const next = all.map((id, index) => ({ ...turn(id, 3), ...(index === 20 ? { entries: large } : undefined) }))
    expect(await store.commit(next)).toEqual(outcomes(40, "committed"))
    expect(written()).toEqual([...all.map((id) => `${id}@1`), ...all.map((id) => `${id}@3`)])
    expect((await store.readJournal("i20", 3))[0]?.entries).toBe(large)
  })

  it("recognises a turn that is repeated in one commit, and one that comes too late", async () => {
    await store.commit([creation("a"), creation("b")])
    const second = turn("a", 3)
    const late = { ...turn("a", 3), turn: "another" }
    expect(await store.commit([turn("b", 3), second, second, late])).toEqual(["committed", "committed", "committed", "lost"])
    expect(written()).toEqual(["a@1", "b@1", "b@3", "a@3"])
  })

  it("writes nothing if another writer has taken a position unnoticed, and then says which turn has it", async () => {
    const all = ids(30)
    await store.commit(all.map((id) => creation(id)))
    // The other writer uses this connection, so its write does not clear the cache of keys.
    driver.exec(
      `INSERT INTO perdure_journal (instance, position, count, run, at, turn, entries) SELECT key, 3, 1, 1, 0, 'x', '[]' FROM perdure_instance WHERE id = 'i17'`,
    )
    const next = all.map((id) => turn(id, 3))
    await expect(store.commit(next)).rejects.toThrow(/UNIQUE/)
    expect(written()).toHaveLength(31)
    const alone = []
    for (const each of next) alone.push(...(await store.commit([each])))
    expect(alone).toEqual(all.map((id) => (id === "i17" ? "lost" : "committed")))
    expect(written()).toHaveLength(60)
  })
})

describe("messages that no instance will read", () => {
  const inbox = () => driver.prepare(`SELECT count(*) AS count FROM perdure_inbox`).get()?.["count"]

  it("are removed with the turn that ends their instance, also if they came in the same commit", async () => {
    await store.commit([creation("a"), creation("b"), creation("c")])
    const ends = { state: completed, discardInbox: true } as const
    expect(await store.commit([turn("a", 3, ends), turn("b", 3, { sends: [event("c")] }), turn("c", 3, ends)])).toEqual(outcomes(3, "committed"))
    expect(inbox()).toBe(0)
  })

  it("are removed as well if an instance that was created in the same commit sent them", async () => {
    await store.commit([creation("a"), creation("b")])
    const ends = { state: completed, discardInbox: true } as const
    await store.commit([turn("a", 3, ends), { ...creation("c"), sends: [event("b")] }, turn("b", 3, ends)])
    expect(inbox()).toBe(0)
  })

  it("do not include messages to other instances", async () => {
    await store.commit([creation("a"), creation("b"), turn("a", 3, { sends: [event("a"), event("b")] })])
    const ends = { state: completed, discardInbox: true } as const
    await store.commit([turn("a", 4, ends), turn("b", 3)])
    expect(await store.readInbox(["b"])).toHaveLength(1)
    expect(inbox()).toBe(1)
  })
})

describe("states", () => {
  it.each([1, 3, 4, 20, 21, 40, 45])("%i instances that come to one state together get it, and no other does", async (count) => {
    await store.commit([...ids(count), "other"].map((id) => creation(id)))
    await store.commit([...ids(count).map((id) => turn(id, 3, { state: completed, at: 7 })), turn("other", 3)])
    const changed = { status: "completed", due_at: null, end_position: 2, updated_at: 7 }
    expect(rows()).toEqual([...ids(count).map(() => changed), { status: "waiting", due_at: null, end_position: null, updated_at: 1_000_000 }])
  })

  it("each instance gets its own state if states or times differ", async () => {
    const all = ids(30)
    await store.commit(all.map((id) => creation(id)))
    await store.commit(all.map((id, index) => turn(id, 3, { state: sleeping(Math.floor(index / 7)), at: Math.floor(index / 5) })))
    expect(rows()).toEqual(
      all.map((_, index) => ({ status: "sleeping", due_at: Math.floor(index / 7), end_position: null, updated_at: Math.floor(index / 5) })),
    )
  })

  it("the last of several states of one instance stays", async () => {
    const all = ids(6)
    await store.commit(all.map((id) => creation(id)))
    await store.commit([...all.map((id) => turn(id, 3, { state: sleeping(5) })), ...all.map((id) => turn(id, 4, { state: completed, at: 9 }))])
    expect(rows()).toEqual(all.map(() => ({ status: "completed", due_at: null, end_position: 2, updated_at: 9 })))
  })

  it.each([
    ["a turn sends", () => turn("old", 3)],
    ["a creation sends", () => creation("new")],
  ])("a message that %s knows who has ended in the same commit", async (_, sender) => {
    const all = ids(5)
    await store.commit([...all, "old"].map((id) => creation(id)))
    const last = found(all.at(-1))
    await store.commit([...all.map((id) => turn(id, 3, { state: completed })), { ...sender(), sends: [event(last), event("old")] }])
    expect(await store.readInbox([last])).toEqual([])
    expect(await store.readInbox(["old"])).toHaveLength(1)
  })

  it("an annotation after a state is newer than the state", async () => {
    await store.commit([creation("a"), creation("b")])
    await store.commit([turn("a", 3, { state: sleeping(5), at: 7 }), turn("a", 4, { tags: ["x"], at: 9 })])
    expect(rows()[0]).toMatchObject({ status: "sleeping", updated_at: 9 })
  })

  it("a failed commit leaves nothing behind", async () => {
    const all = ids(5)
    await store.commit(all.map((id) => creation(id)))
    const bad = turn("i4", 3, { state: completed, tags: [null as unknown as string] })
    await expect(store.commit([...all.slice(0, 4).map((id) => turn(id, 3, { state: completed })), bad])).rejects.toThrow(/includes/)
    await store.commit([turn("i0", 3), turn("i1", 3)])
    expect(rows().map((row) => row["status"])).toEqual(all.map(() => "waiting"))
  })
})

describe("any turns", () => {
  const tables = ["perdure_instance", "perdure_journal", "perdure_journal_chunk", "perdure_inbox", "perdure_tag"]
  const contents = (of: NodeSqlDriver) => Object.fromEntries(tables.map((table) => [table, of.prepare(`SELECT * FROM ${table}`).all()]))
  const names = ids(5)
  const states = [completed, sleeping(1), sleeping(2), undefined]

  /** These turns make the batch write what waits in it. They are rare, so that most turns wait. */
  const rarely = <T>(drawn: fc.Arbitrary<T>) => fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: drawn })

  const choices = fc.array(
    fc.record({
      id: fc.constantFrom(...names),
      state: fc.constantFrom(...states),
      at: fc.nat({ max: 2 }),
      isLarge: rarely(fc.constant(true)),
      sendsTo: rarely(fc.constantFrom(...names)),
      tags: rarely(fc.subarray(["x", "y"])),
      isSentTwice: rarely(fc.constant(true)),
    }),
    { minLength: 2, maxLength: 60 },
  )
  type Choice = typeof choices extends fc.Arbitrary<(infer T)[]> ? T : never

  /** A possible sequence of turns: each instance begins with its creation, and no turn follows its end. */
  function turnsOf(chosen: readonly Choice[]): readonly Turn[] {
    const next = new Map<string, number>()
    return chosen.flatMap(({ id, state, at, isLarge, sendsTo, tags, isSentTwice }) => {
      const position = next.get(id)
      if (position === Infinity) return []
      const more: Partial<Turn> = {
        at,
        ...(sendsTo === undefined ? undefined : { sends: [event(sendsTo)] }),
        ...(tags && { tags }),
        ...(isLarge ? { entries: `["${"x".repeat(inlineTextMax)}"]` } : undefined),
        ...(state === completed ? { discardInbox: true } : undefined),
      }
      next.set(id, state === completed ? Infinity : position === undefined ? 3 : position + 1)
      const made = position === undefined ? { ...creation(id), ...more, ...(state && { state }) } : turn(id, position, { ...more, ...(state && { state }) })
      return isSentTwice ? [made, made] : [made]
    })
  }

  it("have the same result whether they are written together or one by one", async () => {
    await fc.assert(
      fc.asyncProperty(choices, fc.integer({ min: 2, max: 30 }), async (chosen, size) => {
        using apart = opened()
        using together = opened()
        const turns = turnsOf(chosen)
        for (const each of turns) expect(await apart.store.commit([each])).toEqual(["committed"])
        for (let from = 0; from < turns.length; from += size) {
          const batch = turns.slice(from, from + size)
          expect(await together.store.commit(batch)).toEqual(outcomes(batch.length, "committed"))
        }
        expect(contents(together.driver)).toEqual(contents(apart.driver))
      }),
      { numRuns: 60 },
    )
  })
})
