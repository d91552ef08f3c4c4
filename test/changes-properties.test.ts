// Random interleavings of turns and of followers of the change stream, which may leave at any change and continue from its cursor.
// Each follower sees every change once, and the changes of one instance in their order.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { type Change, type ChangeIterator, type Context, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { createTestEngine } from "perdure/testing"
import { afterAll, describe, expect, it } from "vitest"

type TestEngine = Awaited<ReturnType<typeof createTestEngine>>
type StoreProvider = NonNullable<Parameters<typeof createTestEngine>[0]["store"]>

const flow = workflow("flow", async (ctx: Context, steps: number) => {
  for (let i = 0; i < steps; i++) await ctx.do(`step-${i}`, () => i)
  return ctx.waitForEvent("word")
})

/** Reads some changes, leaves, and continues later from its own cursor or from the last change that it got. */
class Reader {
  readonly seen: Change[] = []
  readonly #instance: string | undefined
  #iterator: ChangeIterator | undefined
  #pending: Promise<IteratorResult<Change, undefined>> | undefined
  #cursor: string | undefined

  constructor(instance: string | undefined) {
    this.#instance = instance
  }

  async read(engine: TestEngine, count: number): Promise<void> {
    this.#iterator ??= (this.#instance === undefined ? engine.changes(this.#cursor) : engine.get(this.#instance).changes(this.#cursor))[Symbol.asyncIterator]()
    for (let i = 0; i < count; i++) {
      this.#pending ??= this.#iterator.next()
      const result = await Promise.race([this.#pending, engine.settle().then(() => engine.settle())])
      if (result === undefined) return
      this.#pending = undefined
      if (result.done) return void (this.#iterator = undefined)
      this.seen.push(result.value)
      this.#cursor = result.value.cursor
    }
  }

  /** The change for which the reader waits when it leaves comes again after its cursor. */
  async leave(byOwnCursor: boolean): Promise<void> {
    const iterator = this.#iterator
    this.#iterator = undefined
    await iterator?.return()
    const last = await this.#pending
    this.#pending = undefined
    if (last?.done === false) {
      this.seen.push(last.value)
      this.#cursor = last.value.cursor
    } else if (byOwnCursor) this.#cursor = (await iterator?.cursor()) ?? this.#cursor
  }
}

const id = fc.constantFrom("a", "b", "c")
const reader = fc.nat({ max: 3 })
const command = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("start" as const), id, steps: fc.nat({ max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("send" as const), id }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), id }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("terminate" as const), id }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const), id }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("read" as const), reader, count: fc.integer({ min: 1, max: 7 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("leave" as const), reader, own: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("settle" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const) }) },
)
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never

async function run(commands: readonly Command[], store: StoreProvider | undefined): Promise<void> {
  const engine = await createTestEngine({ workflows: [flow], ...(store ? { store } : undefined) })
  const readers = [new Reader(undefined), new Reader(undefined), new Reader("a"), new Reader("b")]
  const deleted = new Set<string>()
  const refused = (error: unknown) => expect(error).toMatchObject({ name: "PerdureError" })
  // The instance exists before its changes are followed.
  await engine.start(flow, { id: "a", input: 1 })
  await engine.start(flow, { id: "b", input: 2 })
  const read = async (index: number, count: number) => {
    const isThere = index < 2 || (await engine.list({ idPrefix: index === 2 ? "a" : "b" })).instances.length > 0
    if (isThere) await readers[index]?.read(engine, count)
  }
  for (const one of commands) {
    if (one.do === "start") await engine.start(flow, { id: one.id, input: one.steps }).catch(refused)
    else if (one.do === "send") await engine.get(one.id).sendEvent("word").catch(refused)
    else if (one.do === "terminate") await engine.get(one.id).terminate().catch(refused)
    else if (one.do === "restart") await engine.get(one.id).restart().catch(refused)
    else if (one.do === "read") await read(one.reader, one.count)
    else if (one.do === "leave") await readers[one.reader]?.leave(one.own)
    else if (one.do === "settle") await engine.settle()
    else if (one.do === "crash") {
      for (const each of readers) await each.leave(false)
      await engine.crash()
    } else {
      const handle = engine.get(one.id)
      const incarnation = await handle.describe().then(
        (description) => description.incarnation,
        () => undefined,
      )
      await handle.delete().then(() => deleted.add(incarnation ?? ""), refused)
    }
  }
  await engine.settle()
  const whole = new Reader(undefined)
  await whole.read(engine, 10_000)
  for (const [index, each] of readers.entries()) {
    await read(index, 10_000)
    await each.leave(false)
    const only = index < 2 ? undefined : index === 2 ? "a" : "b"
    const ids = each.seen.map((change) => change.id)
    expect(new Set(ids).size, "each once").toBe(ids.length)
    const expected = whole.seen.filter(({ instance }) => only === undefined || instance === only).map((change) => change.id)
    const ofThere = ids.filter((one) => !deleted.has(one.slice(0, one.lastIndexOf(":"))))
    expect(ofThere, "all of them, in the same order").toEqual(expected)
    for (const incarnation of new Set(ids.map((one) => one.slice(0, one.lastIndexOf(":"))))) {
      const positions = each.seen.filter((change) => change.id.startsWith(`${incarnation}:`)).map(({ position }) => position)
      expect(positions).toEqual(positions.toSorted((x, y) => x - y))
    }
  }
  await engine.close()
}

describe("changes, read and resumed anywhere", () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-changes-"))
  afterAll(() => rmSync(folder, { recursive: true }))
  const commands = fc.array(command, { minLength: 5, maxLength: 60 })

  it("come once and in order, from memory", async () => {
    await fc.assert(
      fc.asyncProperty(commands, (list) => run(list, undefined)),
      { numRuns: 120 },
    )
  }, 60_000)

  it("come once and in order, from SQLite", async () => {
    let files = 0
    await fc.assert(
      fc.asyncProperty(commands, (list) => run(list, sqlite(join(folder, `${++files}.db`), { durability: "process" }))),
      { numRuns: 40 },
    )
  }, 60_000)
})
