import { describe, expect, it } from "vitest"
import type { NewMessage } from "../../ports/journal-store.ts"
import { turn } from "../../testing/store-conformance/sample.ts"
import { HeardMail, mailOf } from "./heard-mail.ts"

const message: NewMessage = { instance: "i", kind: "event", at: 5, topic: "go", payload: `"\u0000 \ud800 ü"` }
const told = (of: NewMessage, seq: number) => `${mailOf("me", of)}${seq}}`

describe("messages that come with the notification of them", () => {
  it("come out as they went in, once", () => {
    const mail = new HeardMail()
    expect(mail.hear(told(message, 7))).toEqual({ sender: "me", instance: "i" })
    expect(mail.take(["i"])).toEqual([{ ...message, seq: 7 }])
    expect(mail.take(["i"])).toBeUndefined()
  })

  it("stay out of it where they are long, in bytes", () => {
    expect(mailOf("me", { ...message, payload: "x".repeat(7_000) })).toBeDefined()
    expect(mailOf("me", { ...message, payload: "ü".repeat(4_000) })).toBeUndefined()
  })

  it("are of use where there is one for all who ask, and nobody told of more", () => {
    const mail = new HeardMail()
    const hearBoth = () => ["i", "j"].forEach((instance, at) => mail.hear(told({ ...message, instance }, at)))
    hearBoth()
    expect(mail.take(["i", "j"])?.map(({ instance }) => instance)).toEqual(["i", "j"])
    hearBoth()
    expect(mail.take(["i", "k"])).toBeUndefined()
    mail.forget("j")
    expect(mail.take(["j"])).toBeUndefined()
    hearBoth()
    mail.forgetAll()
    expect(mail.take(["i"])).toBeUndefined()
  })

  it("are unsure from when they are taken until a turn with them is settled", () => {
    const mail = new HeardMail()
    const taking = turn("i", 3, { consumed: [7] })
    mail.hear(told(message, 7))
    expect(mail.isUnsure(taking)).toBe(false)
    mail.take(["i"])
    expect(mail.isUnsure(taking)).toBe(true)
    expect(mail.isUnsure(turn("i", 3))).toBe(false)
    mail.settle([taking])
    expect(mail.isUnsure(taking)).toBe(false)
  })

  it.each(["", "{", "[]", "null", `{"sender":"me"}`, `{"sender":1,"instance":"i","seq":1}`, `{"sender":"me","instance":"i"}`])(
    "are nothing where it says something else: %s",
    (payload) => {
      expect(new HeardMail().hear(payload)).toBeUndefined()
    },
  )

  it("of very many the oldest are forgotten", () => {
    const mail = new HeardMail()
    for (let n = 0; n <= 1_000; n++) mail.hear(told({ ...message, instance: `i${n}` }, n))
    expect(mail.take(["i0"])).toBeUndefined()
    expect(mail.take(["i1"])).toHaveLength(1)
    expect(mail.take(["i1000"])).toHaveLength(1)
  })
})
