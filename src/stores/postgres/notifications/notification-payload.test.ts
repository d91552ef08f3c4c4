import { describe, expect, it } from "vitest"
import { fromPayload, isPushed, messagePayloads, toHint, toPayload } from "./notification-payload.ts"

const through = (...flags: string[]) => fromPayload(toPayload("me", new Set(flags)))

describe("what a notification says", () => {
  it("comes out as it went in: letters, those who ended, who were let in, and who have messages", () => {
    for (const flags of [["w"], ["t"], ["w", "c"], ["ea", "eb:c"], ["w", "e1", "l2"], ["la", "lb"], ["e", "la"], ["m1"], ["ma", "eb", "lc", "w"]]) {
      const sent = through(...flags)
      expect(sent.sender).toBe("me")
      expect(sent.flags.toSorted()).toEqual(flags.toSorted())
    }
  })

  it("is about anything where there are too many ids: whoever was let in is then found by looking for all", () => {
    const many = Array.from({ length: 1_000 }, (_, n) => `l${n}-of-many`)
    expect(through(...many).flags).toEqual(["w"])
    expect(through("e1", ...many).flags.toSorted()).toEqual(["e", "w"])
  })

  it("with too many ids of messages it is about all work, and the other way round the ids say whose messages are all that is new", () => {
    expect(through(...Array.from({ length: 1_000 }, (_, n) => `m${n}-of-many`)).flags).toEqual(["w"])
    expect(toHint(new Set(["ma", "mb"]))).toMatchObject({ work: ["a", "b"], changed: false })
    expect(toHint(new Set(["ma", "w"]))).toMatchObject({ work: true })
  })

  it("of one message says whose it is, and whether it goes along; versions that know of no such thing read the same", () => {
    for (const id of ["a", `with ":" and "quotes"`, `,"pushed":1}`]) {
      const { payload, payloadIfPushed } = messagePayloads("me", id)
      expect(payload).toBe(toPayload("me", new Set([`m${id}`])))
      expect([isPushed(payload), isPushed(payloadIfPushed)]).toEqual([false, true])
      for (const sent of [payload, payloadIfPushed]) expect(fromPayload(sent)).toEqual({ sender: "me", flags: [`m${id}`] })
    }
    expect(fromPayload(messagePayloads("me", "x".repeat(2_000)).payloadIfPushed)).toEqual({ sender: "me", flags: ["w"] })
  })

  it("of new tasks says so", () => {
    expect(toHint(new Set(["t"]))).toEqual({ work: false, ends: false, updatesAnswered: false, changed: false, tasks: true })
  })

  it("to those who wait it says nothing of who was let in", () => {
    expect(toHint(new Set(["la"]))).toEqual({ work: false, ends: false, updatesAnswered: false, changed: false, tasks: false })
    expect(toHint(new Set(["la", "eb"]))).toMatchObject({ work: false, ends: ["b"] })
  })
})
