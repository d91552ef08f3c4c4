import { beforeEach, describe, expect, it } from "vitest"
import { slots } from "../../../../testing/store-conformance/sample.ts"
import { NodeSqlDriver } from "../../driver/node-sql-driver.ts"
import { isLimitKey, SqliteLimitKey } from "./sqlite-limit-key.ts"
import { SqliteLimitSettings } from "./sqlite-limit-settings.ts"

const keyOf = (key: string, token = "t1", name = "concurrency") => ({ key, name, token })

describe("the settings of a workflow's limits", () => {
  let numbers: SqliteLimitSettings
  beforeEach(() => {
    numbers = new SqliteLimitSettings(new NodeSqlDriver(":memory:", ""))
  })

  it("create no tables while nothing is written", () => {
    expect([numbers.isThere(), numbers.isEmpty(), numbers.unnotified(10), [...numbers.overrides()]]).toEqual([false, true, [], []])
    numbers.leave(keyOf("a"))
    expect(numbers.isThere()).toBe(false)
  })

  it("are reported once to each key of the limit, and to later keys when they join", () => {
    expect(numbers.join(keyOf("a"))).toEqual({ revision: 0 })
    numbers.join(keyOf("b"))
    numbers.join(keyOf("r", "t1", "rate"))
    numbers.set([{ name: "concurrency", to: { max: 7 } }])
    expect(numbers.unnotified(10)).toEqual([
      { ...keyOf("a"), setting: { revision: 1, to: { max: 7 } } },
      { ...keyOf("b"), setting: { revision: 1, to: { max: 7 } } },
    ])
    expect(numbers.unnotified(10, "a").map(({ key }) => key)).toEqual(["b"])
    numbers.markNotified(keyOf("a"), 1)
    expect(numbers.unnotified(10).map(({ key }) => key)).toEqual(["b"])
    expect(numbers.join(keyOf("c"))).toEqual({ revision: 1, to: { max: 7 } })
    numbers.set([
      { name: "concurrency", to: undefined },
      { name: "rate", to: { max: 2, perMs: 5 } },
    ])
    expect(numbers.unnotified(10).map(({ key, setting }) => [key, setting])).toEqual([
      ["a", { revision: 2 }],
      ["b", { revision: 2 }],
      ["c", { revision: 2 }],
      ["r", { revision: 1, to: { max: 2, perMs: 5 } }],
    ])
    expect([...numbers.overrides()]).toEqual([["rate", { max: 2, perMs: 5 }]])
  })

  it("tell a key that left and joined again from the earlier membership", () => {
    numbers.join(keyOf("a", "t1"))
    numbers.join(keyOf("a", "t2"))
    numbers.leave(keyOf("a", "t1"))
    numbers.set([{ name: "concurrency", to: { max: 1 } }])
    numbers.markNotified(keyOf("a", "t1"), 1)
    expect(numbers.unnotified(10).map(({ token }) => token)).toEqual(["t2"])
    expect(numbers.isEmpty()).toBe(false)
    numbers.leave(keyOf("a", "t2"))
    expect(numbers.isEmpty()).toBe(false)
    numbers.set([{ name: "concurrency", to: undefined }])
    expect(numbers.isEmpty()).toBe(true)
  })
})

describe("a limit key that receives settings", () => {
  const two = slots(2, "k")
  const member = (id: string) => ({ id, incarnation: `${id}~1` })
  let key: SqliteLimitKey
  beforeEach(() => {
    key = new SqliteLimitKey(new NodeSqlDriver(":memory:", ""), () => 1_000)
  })
  const ask = async (id: string) => (await key.slotAsk({ ...member(id), use: two, priority: 0 })).state
  const joined = () => key.settings.join({ workflow: "order", name: two.name, key: two.key })

  it("uses the set numbers, and the declared numbers again after a reset", async () => {
    const { token } = joined()
    expect(joined().token).toBe(token)
    expect(key.settings.isJoined).toBe(false)
    expect(key.settings.receive(token, { revision: 3, to: { max: 1 } })).toBe(true)
    expect(key.settings.isJoined).toBe(true)
    expect([await ask("a"), await ask("b")]).toEqual(["taken", "waiting"])
    // A late setting with a lower revision changes nothing.
    expect(key.settings.receive(token, { revision: 2, to: { max: 9 } })).toBe(true)
    key.settingsChanged()
    expect(key.unnotified(10)).toEqual([])
    key.settings.receive(token, { revision: 4 })
    key.settingsChanged()
    expect(key.unnotified(10).map(({ id }) => id)).toEqual(["b"])
  })

  it("ignores settings for an ended membership, and joins again", async () => {
    const first = joined()
    key.settings.receive(first.token, { revision: 5, to: { max: 1 } })
    expect(key.settings.leave()).toEqual(first)
    expect(key.settings.leave()).toBeUndefined()
    expect(key.settings.isJoined).toBe(false)
    expect(key.settings.receive(first.token, { revision: 6, to: { max: 9 } })).toBe(false)
    const second = joined()
    expect(second.token).not.toBe(first.token)
    expect(key.settings.receive(first.token, { revision: 6, to: { max: 9 } })).toBe(false)
    // The revision is lower, because the settings object was emptied meanwhile.
    expect(key.settings.receive(second.token, { revision: 0 })).toBe(true)
    expect(key.settings.inForce).toBeUndefined()
  })

  it("is a limit key from its first opening on", () => {
    const driver = new NodeSqlDriver(":memory:", "")
    expect(isLimitKey(driver)).toBe(false)
    void new SqliteLimitKey(driver, () => 1_000)
    expect(isLimitKey(driver)).toBe(true)
  })

  it("is empty when no member holds a slot or waits", async () => {
    expect(key.emptyAt()).toBe(0)
    await ask("a")
    expect(key.emptyAt()).toBeUndefined()
    await key.slotGive(member("a"))
    expect(key.emptyAt()).toBe(0)
  })
})
