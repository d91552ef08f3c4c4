import { describe, expect, it } from "vitest"
import { PerdureError } from "../../core/errors.ts"
import { workflow } from "../../core/workflow/workflow.ts"
import type { CurrentClient } from "./client-bed.ts"
import { checked, echo, patient, richValue } from "./sample-workflows.ts"

export function startCases(client: CurrentClient): void {
  describe("start", () => {
    it("gives a handle whose result is what the workflow returns, by definition and by name", async () => {
      const handle = await client().start(echo, { id: "order-1", input: { a: [1, "b"] } })
      expect(handle.id).toBe("order-1")
      expect(await handle.result()).toEqual({ a: [1, "b"] })
      const other = await client().start("checked", { input: 21 })
      expect(await other.result()).toBe(42)
      expect(other.id.length).toBeGreaterThan(10)
      expect(await client().describe(other.id)).toMatchObject({ workflow: "checked", version: "3", input: 21, result: 42 })
    })

    it("takes and gives any value as it is", async () => {
      const handle = await client().start(echo, { input: richValue })
      expect(await handle.result()).toStrictEqual(richValue)
      expect((await handle.describe()).input).toStrictEqual(richValue)
      for (const value of [undefined, null, 0, "", [], new Date(0), [undefined]]) {
        expect(await (await client().start(echo, { input: value })).result()).toStrictEqual(value)
      }
    })

    it("takes its options", async () => {
      const startAt = new Date(4_000_000_000_000)
      await client().start(patient, { id: "late", startAt, tags: ["eu", "big"], timeout: "1h", priority: 3 })
      await client().start(patient, { id: "later", delay: "1h" })
      expect(await client().describe("late")).toMatchObject({ status: "queued", tags: ["eu", "big"] })
      expect(await client().get("later").status()).toBe("queued")
      const [first] = (await client().get("late").history()).entries
      expect(first?.data).toMatchObject({ startAt: startAt.getTime(), timeoutAt: startAt.getTime() + 3_600_000 })
    })

    it("takes an id with every mark that is allowed, and finds it by that", async () => {
      const id = "_tenant=acme,order.1:2@eu-west~b"
      await client().start(echo, { id, input: 1 })
      expect(await client().get(id).result()).toBe(1)
      expect((await client().describe(id)).id).toBe(id)
      expect((await client().list({ idPrefix: "_tenant=acme," })).instances.map((instance) => instance.id)).toEqual([id])
      await client().delete(id)
    })

    it("refuses an id that exists, or returns what has it", async () => {
      await client().start(echo, { id: "a", input: 1 })
      await expect(client().start(echo, { id: "a", input: 1 })).rejects.toMatchObject({ code: "ID_EXISTS", details: { instance: "a" } })
      expect((await client().start(echo, { id: "a", input: 1, ifExists: "return" })).id).toBe("a")
      await expect(client().start(echo, { id: "a", input: 2, ifExists: "return" })).rejects.toMatchObject({ code: "ID_CONFLICT" })
      const requestId = "0123456789abcdef"
      for (let i = 0; i < 2; i++) expect((await client().start(echo, { id: "b", input: 1, requestId })).id).toBe("b")
    })

    it("refuses what the engine refuses, with the same errors", async () => {
      await expect(client().start("nobody")).rejects.toMatchObject({ name: "PerdureError", code: "UNKNOWN_WORKFLOW" })
      await expect(client().start(echo, { id: "no spaces", input: 1 })).rejects.toMatchObject({ code: "BAD_ID" })
      const refusal = await client()
        .start(checked, { input: 0 })
        .catch((error: unknown) => error)
      expect(PerdureError.is(refusal, "INVALID_INPUT")).toBe(true)
      expect(refusal).toMatchObject({ details: { issues: [{ message: "is below 1" }] } })
      await expect(client().start(echo, { input: () => 1 })).rejects.toMatchObject({ code: "UNSERIALIZABLE" })
    })
  })

  describe("a version that nobody knows", () => {
    it("is refused, alone, in a batch and by sendOrStart, unless it is allowed: then it waits", async () => {
      const unknown = { code: "UNKNOWN_WORKFLOW" }
      await expect(client().start("echo", { id: "a", version: "9", input: 1 })).rejects.toMatchObject(unknown)
      await expect(client().sendOrStart("patient", { id: "a", version: "9", event: "word", payload: 1, input: undefined })).rejects.toMatchObject(unknown)
      const results = await client().startBatch([
        { workflow: "echo", id: "a", version: "9", input: 1 },
        { workflow: "echo", id: "b", version: "8", input: 1, allowUnknown: true },
      ])
      expect(results.map((result) => (result.created ? result.id : result.error.code))).toEqual(["UNKNOWN_WORKFLOW", "b"])
      await expect(client().describe("a")).rejects.toMatchObject({ code: "NOT_FOUND" })
      expect(await client().get("b").status()).toBe("queued")
      const handle = await client().start("echo", { version: "10", input: 1, allowUnknown: true })
      expect(await handle.status()).toBe("queued")
    })

    it("is not refused where its definition is given", async () => {
      const future = workflow("echo", { version: "11" }, async () => 1)
      const handle = await client().start(future)
      expect(await handle.status()).toBe("queued")
    })
  })

  describe("startBatch", () => {
    it("starts each item on its own, and reports the outcome of each", async () => {
      await client().start(echo, { id: "taken", input: 1 })
      const results = await client().startBatch([
        { workflow: echo, id: "a", input: richValue },
        { workflow: "echo", id: "taken", input: 2 },
        { workflow: checked, id: "bad", input: 0 },
        { workflow: "checked", input: 2 },
      ])
      expect(results[0]).toEqual({ id: "a", created: true })
      expect(results.map((result) => (result.created ? "created" : result.error.code))).toEqual(["created", "ID_EXISTS", "INVALID_INPUT", "created"])
      expect(results.every((result) => result.created || PerdureError.is(result.error))).toBe(true)
      expect(await client().get("a").result()).toStrictEqual(richValue)
      expect(await client().startBatch([])).toEqual([])
    })

    it("gives an id that occurs twice to the first item", async () => {
      const results = await client().startBatch([1, 2, 3].map((input) => ({ workflow: echo, id: "same", input })))
      expect(results.map((result) => (result.created ? "created" : result.error.code))).toEqual(["created", "ID_EXISTS", "ID_EXISTS"])
      expect(await client().get("same").result()).toBe(1)
    })
  })

  describe("sendOrStart", () => {
    it("starts an absent instance, and sends to an existing one", async () => {
      const handle = await client().sendOrStart(patient, { id: "p", event: "word", payload: richValue, tags: ["t"] })
      expect(await handle.result()).toStrictEqual([richValue])
      await client().start(patient, { id: "q" })
      await client().sendOrStart("patient", { id: "q", event: "word", payload: 1, eventId: "once", input: undefined })
      expect(await client().get("q").result()).toEqual([1])
      await expect(client().sendOrStart(patient, { id: "q", event: "word", payload: 1 })).rejects.toMatchObject({ code: "INSTANCE_ENDED" })
    })
  })
}
