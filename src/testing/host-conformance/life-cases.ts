import { describe, expect, it } from "vitest"
import { sha256 } from "../../core/values/sha256.ts"
import { type CurrentHost, quiet } from "./host-bed.ts"

export function lifeCases(bed: CurrentHost): void {
  describe.each([false, true])("quiescence, one of many in a row: %s", (inARow) => {
    it("comes when every promise that could settle has settled, however long the chain", async () => {
      const { host } = bed()
      let links = 0
      const chain = async () => {
        for (let i = 0; i < 10_000; i++) {
          await Promise.resolve()
          links++
        }
      }
      const done = quiet(host, inARow).then(() => links)
      void chain()
      expect(await done).toBe(10_000)
    })

    it("comes later than the call", async () => {
      const { host } = bed()
      let isOver = false
      const done = new Promise<boolean>((resolve) => host.quiesce(() => resolve(isOver), inARow))
      isOver = true
      expect(await done).toBe(true)
    })

    it("comes in the order in which it was asked for, and what follows from one is done before the next", async () => {
      const { host } = bed()
      const seen: string[] = []
      const all = new Promise<void>((resolve) => {
        host.quiesce(() => {
          seen.push("first")
          void Promise.resolve()
            .then(() => undefined)
            .then(() => seen.push("after the first"))
        }, inARow)
        host.quiesce(() => {
          seen.push("second")
          host.quiesce(resolve, inARow)
        }, inARow)
      })
      await all
      expect(seen).toEqual(["first", "after the first", "second"])
    })

    it("comes a thousand times in a row", async () => {
      const { host } = bed()
      let times = 0
      await new Promise<void>((resolve) => {
        const again = () => (++times === 1_000 ? resolve() : host.quiesce(again, inARow))
        host.quiesce(again, inARow)
      })
      expect(times).toBe(1_000)
    })
  })

  describe("randomness", () => {
    it.each([0, 1, 16, 4_096, 10_000])("gives as many bytes as are asked for: %i", (length) => {
      expect(bed().host.randomBytes(length)).toHaveLength(length)
    })

    it("gives bytes that are the caller's own, and never the same again", () => {
      const { host } = bed()
      const texts = new Set<string>()
      for (let i = 0; i < 1_000; i++) {
        const bytes = host.randomBytes(16)
        texts.add(bytes.join())
        bytes.fill(0)
      }
      expect(texts.size).toBe(1_000)
    })
  })

  it.each([
    ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
    ["é\n😀".repeat(100), sha256("é\n😀".repeat(100))],
    ["half a pair: \ud800", sha256("half a pair: \ufffd")],
  ])("gives the SHA-256 of a text: %j", (text, hash) => {
    expect(bed().host.sha256(text)).toBe(hash)
  })

  it("an error of the logger does not reach the engine", () => {
    const { log } = bed().host
    expect(() => {
      log.debug("one")
      log.info("two")
      log.warn("three", { four: 5 })
      log.error("six")
    }).not.toThrow()
  })
}
