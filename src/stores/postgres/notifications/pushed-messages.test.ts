import { describe, expect, it } from "vitest"
import type { Message, NewMessage } from "../../../ports/journal-store.ts"
import { turn } from "../../../testing/store-conformance/sample.ts"
import { PushedMessages, fromPushedPayload, toPushedPayload } from "./pushed-messages.ts"

const message: NewMessage = { instance: "i", kind: "event", at: 5, topic: "go", payload: `"\u0000 \ud800 ü"` }

describe("messages that come with the notification of them", () => {
  it("come out as they went in", () => {
    expect(fromPushedPayload(`${toPushedPayload("me", message)}7}`)).toEqual({ sender: "me", message: { ...message, seq: 7 } })
  })

  it("stay out of it where they are long, in bytes", () => {
    expect(toPushedPayload("me", { ...message, payload: "x".repeat(7_000) })).toBeDefined()
    expect(toPushedPayload("me", { ...message, payload: "x".repeat(7_600) })).toBeUndefined()
    expect(toPushedPayload("me", { ...message, payload: "ü".repeat(4_000) })).toBeUndefined()
  })

  it("are offered until somebody takes them", () => {
    const pushed = new PushedMessages()
    const offered: string[] = []
    const taker = (name: string, takes: boolean) => (_: Message) => offered.push(name) > 0 && takes
    expect(pushed.offer({ ...message, seq: 7 }, [taker("one", false), taker("other", true), taker("late", true)])).toBe(true)
    expect(offered).toEqual(["one", "other"])
    expect(pushed.offer({ ...message, seq: 8 }, [taker("one", false)])).toBe(false)
  })

  it("are unconfirmed from when a listener accepts them until a turn that consumes them is settled", () => {
    const pushed = new PushedMessages()
    const taking = turn("i", 3, { consumed: [7] })
    const seen: boolean[] = []
    pushed.offer({ ...message, seq: 7 }, [() => false])
    expect(pushed.hasUnconfirmed(taking)).toBe(false)
    // Also for whoever is so quick as to write it at once.
    pushed.offer({ ...message, seq: 7 }, [() => seen.push(pushed.hasUnconfirmed(taking)) > 0])
    expect(seen).toEqual([true])
    expect(pushed.hasUnconfirmed(taking)).toBe(true)
    expect(pushed.hasUnconfirmed(turn("i", 3))).toBe(false)
    pushed.settle([taking])
    expect(pushed.hasUnconfirmed(taking)).toBe(false)
  })

  it.each(["", "{", "[]", "null", `{"sender":"me"}`, `{"sender":1,"instance":"i","seq":1}`, `{"sender":"me","instance":"i"}`])(
    "are nothing where it says something else: %s",
    (payload) => {
      expect(fromPushedPayload(payload)).toBeUndefined()
    },
  )

  it("of very many whose turns were never written, no more are taken: inboxes are read", () => {
    const pushed = new PushedMessages()
    const offer = (seq: number) => pushed.offer({ ...message, seq }, [() => true])
    for (let seq = 1; seq <= 10_000; seq++) expect(offer(seq)).toBe(true)
    expect(offer(10_001)).toBe(false)
    pushed.settle([turn("i", 3, { consumed: [1] })])
    expect(offer(10_001)).toBe(true)
  })
})
