import { beforeEach, describe, expect, it } from "vitest"
import type { LimitUse } from "../../../../ports/flow-control.ts"
import type { SlotAnswer } from "../../../../ports/cloudflare/limit-key.ts"
import { rate, slots } from "../../../../testing/store-conformance/sample.ts"
import { NodeSqlDriver } from "../../driver/node-sql-driver.ts"
import { SqliteLimitKey } from "./sqlite-limit-key.ts"

let now = 0
let driver: NodeSqlDriver
let key: SqliteLimitKey
let max: number | undefined

beforeEach(() => {
  now = 1_000_000
  max = undefined
  driver = new NodeSqlDriver(":memory:", "")
  key = open()
})

function open(): SqliteLimitKey {
  return new SqliteLimitKey(
    driver,
    () => now,
    ({ perMs }) => (max === undefined ? undefined : { max, ...(perMs === undefined ? undefined : { perMs }) }),
  )
}

const member = (id: string) => ({ id, incarnation: `${id}~1` })
const ask = (id: string, use: LimitUse, more: { priority?: number; isCancelling?: boolean } = {}) => key.slotAsk({ ...member(id), use, priority: 0, ...more })
const give = (id: string) => key.slotGive(member(id))
const unnotified = () => key.unnotified(100).map(({ id }) => id)
const state = async (answer: Promise<SlotAnswer>) => (await answer).state

describe("one key of a limit", () => {
  const two = slots(2, "k")

  it("gives out its slots and no more, and says what the other members wait for", async () => {
    expect(await state(ask("a", two))).toBe("taken")
    expect(await state(ask("b", two))).toBe("taken")
    expect(await ask("c", two)).toEqual({ state: "waiting", max: 2, holders: ["a", "b"], held: 2, ahead: 0 })
    expect(await ask("d", two)).toMatchObject({ state: "waiting", ahead: 1 })
  })

  it("a member that asks again keeps its slot or its place, and takes no second one", async () => {
    for (const id of ["a", "b", "c", "d"]) await ask(id, two)
    expect(await state(ask("a", two))).toBe("taken")
    expect(await ask("c", two)).toMatchObject({ held: 2, ahead: 0 })
    expect(await ask("d", two)).toMatchObject({ held: 2, ahead: 1 })
  })

  it("a returned slot belongs to the next member at once, which must be notified and learns of it when it asks", async () => {
    for (const id of ["a", "b", "c", "d"]) await ask(id, two)
    await give("b")
    expect(unnotified()).toEqual(["c"])
    // A member that asks now does not overtake the queue.
    expect(await ask("e", two)).toMatchObject({ state: "waiting", ahead: 1 })
    expect(await state(ask("c", two))).toBe("taken")
    expect(unnotified()).toEqual([])
    expect(await ask("d", two)).toMatchObject({ holders: ["a", "c"] })
  })

  it("returning a slot twice, or one that a member never had, changes nothing", async () => {
    for (const id of ["a", "b", "c", "d"]) await ask(id, two)
    await give("a")
    await give("a")
    await give("nobody")
    expect(await state(ask("c", two))).toBe("taken")
    expect(await state(ask("d", two))).toBe("waiting")
  })

  it("a member that has left the queue gets no slot", async () => {
    for (const id of ["a", "b", "c", "d"]) await ask(id, two)
    await give("c")
    await give("a")
    expect(unnotified()).toEqual(["d"])
  })

  it("tells incarnations of one id apart", async () => {
    const one = slots(1, "k")
    await ask("a", one)
    expect(await state(key.slotAsk({ id: "a", incarnation: "a~2", use: one, priority: 0 }))).toBe("waiting")
    await key.slotGive({ id: "a", incarnation: "a~3" })
    expect(key.unnotified(10)).toEqual([])
    await give("a")
    expect(key.unnotified(10)).toEqual([{ id: "a", incarnation: "a~2" }])
  })

  it("admits the higher priority first, and an instance that is being cancelled before all", async () => {
    const one = slots(1, "k")
    await ask("a", one)
    await ask("low", one)
    await ask("high", one, { priority: 5 })
    await ask("low-2", one)
    await ask("low-2", one, { isCancelling: true })
    for (const id of ["low-2", "high", "low"]) {
      await give(unnotified()[0] ?? "a")
      expect(unnotified()).toEqual([id])
    }
  })

  it("keeps its state when it is opened again", async () => {
    for (const id of ["a", "b", "c"]) await ask(id, two)
    await give("a")
    key = open()
    expect(unnotified()).toEqual(["c"])
    expect(await state(ask("c", two))).toBe("taken")
    expect(await state(ask("d", two))).toBe("waiting")
  })

  it("uses numbers that were set instead of a member's, and admits the members that they allow", async () => {
    for (const id of ["a", "b", "c", "d", "e"]) await ask(id, two)
    max = 4
    key.settingsChanged()
    expect(unnotified()).toEqual(["c", "d"])
    max = 1
    key.settingsChanged()
    await give("a")
    await give("b")
    await give("c")
    expect(unnotified()).toEqual(["d"])
    expect(await state(ask("e", two))).toBe("waiting")
  })

  it("names the members that hold slots and are silent, and says whether a member waits", async () => {
    const one = slots(1, "k")
    await ask("a", one)
    now += 60_000
    expect(key.silentMembers(now - 30_000, 10)).toEqual([member("a")])
    expect(key.isWaitedFor()).toBe(false)
    await ask("b", one)
    expect(key.isWaitedFor()).toBe(true)
    expect(key.silentMembers(now - 30_000, 10)).toEqual([member("a")])
    await ask("a", one)
    expect(key.silentMembers(now - 30_000, 10)).toEqual([])
  })

  it("keeps to a rate: the next member is admitted when its time comes, and must be notified", async () => {
    const use = rate(2, 1_000, "k")
    expect(await state(ask("a", use))).toBe("taken")
    expect(await state(ask("b", use))).toBe("taken")
    expect(await ask("c", use)).toMatchObject({ state: "waiting", until: now + 500 })
    expect(await ask("d", use)).toEqual(expect.not.objectContaining({ until: expect.anything() as number }))
    expect(key.nextDueAt()).toBe(now + 500)
    key.wake()
    expect(unnotified()).toEqual([])
    now += 500
    key.wake()
    expect(unnotified()).toEqual(["c"])
    expect(key.nextDueAt()).toBe(now + 500)
    now += 500
    key.wake()
    expect(unnotified()).toEqual(["c", "d"])
    // A member that asks again does not count as a second start.
    expect(await state(ask("c", use))).toBe("taken")
    for (const id of ["a", "b", "c", "d"]) await give(id)
    expect(await ask("e", use)).toMatchObject({ until: now + 500 })
  })

  it("never gives out more slots than there are, in any order of calls", async () => {
    const five = slots(5, "k")
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % below
    }
    const holding = new Set<string>()
    for (let step = 0; step < 2_000; step++) {
      const id = `i${random(30)}`
      if (random(3) > 0) {
        if ((await state(ask(id, five, { priority: random(3) }))) === "taken") holding.add(id)
      } else {
        await give(id)
        holding.delete(id)
      }
      expect(holding.size).toBeLessThanOrEqual(5)
      if (random(50) === 0) key = open()
    }
    for (let at = 0; at < 30; at++) await give(`i${at}`)
    for (let at = 0; at < 5; at++) expect(await state(ask(`j${at}`, five))).toBe("taken")
  })
})
