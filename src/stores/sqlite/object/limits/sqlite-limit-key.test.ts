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

  it("gives out so many slots and no more, and says what the others wait for", async () => {
    expect(await state(ask("a", two))).toBe("taken")
    expect(await state(ask("b", two))).toBe("taken")
    expect(await ask("c", two)).toEqual({ state: "waiting", max: 2, holders: ["a", "b"], held: 2, ahead: 0 })
    expect(await ask("d", two)).toMatchObject({ state: "waiting", ahead: 1 })
  })

  it("whoever asks again has what it had, and takes no second slot nor another place", async () => {
    for (const id of ["a", "b", "c", "d"]) await ask(id, two)
    expect(await state(ask("a", two))).toBe("taken")
    expect(await ask("c", two)).toMatchObject({ held: 2, ahead: 0 })
    expect(await ask("d", two)).toMatchObject({ held: 2, ahead: 1 })
  })

  it("a slot that is given back is the next one's at once, who is to be told, and knows when it asks", async () => {
    for (const id of ["a", "b", "c", "d"]) await ask(id, two)
    await give("b")
    expect(unnotified()).toEqual(["c"])
    // Somebody who comes now does not get before those in line.
    expect(await ask("e", two)).toMatchObject({ state: "waiting", ahead: 1 })
    expect(await state(ask("c", two))).toBe("taken")
    expect(unnotified()).toEqual([])
    expect(await ask("d", two)).toMatchObject({ holders: ["a", "c"] })
  })

  it("giving back twice, or what one never had, changes nothing", async () => {
    for (const id of ["a", "b", "c", "d"]) await ask(id, two)
    await give("a")
    await give("a")
    await give("nobody")
    expect(await state(ask("c", two))).toBe("taken")
    expect(await state(ask("d", two))).toBe("waiting")
  })

  it("whoever leaves the line is passed over", async () => {
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

  it("lets in the higher priority first, and what is being cancelled before all", async () => {
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

  it("keeps what it knows when it is opened again", async () => {
    for (const id of ["a", "b", "c"]) await ask(id, two)
    await give("a")
    key = open()
    expect(unnotified()).toEqual(["c"])
    expect(await state(ask("c", two))).toBe("taken")
    expect(await state(ask("d", two))).toBe("waiting")
  })

  it("goes by other numbers than a member's where there are some, and lets in whom they let in", async () => {
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

  it("names those that have slots and were not heard of, and says whether somebody waits", async () => {
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

  it("keeps to a rate: the next one is let in when its time comes, and is told", async () => {
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
    // A start that is asked about again is not counted again.
    expect(await state(ask("c", use))).toBe("taken")
    for (const id of ["a", "b", "c", "d"]) await give(id)
    expect(await ask("e", use)).toMatchObject({ until: now + 500 })
  })

  it("never gives out more than there are, whatever comes in whatever order", async () => {
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
