import { describe, expect, it } from "vitest"
import type { ChangeType } from "../../core/journal/change.ts"
import { CancelledError, PerdureError, ResultTimeoutError, TerminatedError } from "../../core/errors.ts"
import type { Handle } from "../../client-api/client-api.ts"
import type { CurrentClient } from "./client-bed.ts"
import { declaring, echo, failing, fickle, patient, richValue, secretive, undoing } from "./sample-workflows.ts"

async function until(handle: Pick<Handle, "changes">, wanted: ChangeType): Promise<void> {
  for await (const { type } of handle.changes()) if (type === wanted) break
}

/** Waits until the first step is done: the turn with its result also records the wait for the event. */
export const untilWaiting = (handle: Pick<Handle, "changes">) => until(handle, "step.completed")

export function instanceCases(client: CurrentClient): void {
  describe("a handle", () => {
    it("describes an instance completely", async () => {
      const handle = await client().start(patient, { id: "p", tags: ["t"] })
      await untilWaiting(handle)
      expect(await handle.status()).toBe("waiting")
      const description = await handle.describe()
      expect(description).toMatchObject({ id: "p", workflow: "patient", version: "1", run: 1, status: "waiting", tags: ["t"] })
      expect(description.createdAt).toBeTypeOf("number")
      expect(await client().describe("p")).toEqual(description)
      expect(await handle.steps()).toEqual(description.steps)
      expect(description.steps[0]).toMatchObject({ name: "begin", type: "do", status: "completed", result: "begun", attempts: 1 })
      const why = await handle.why()
      expect(why.because.join()).toContain("word")
      expect(await client().why("p")).toEqual(why)
    })

    it("refuses an event that the workflow does not declare, and names the one that was meant", async () => {
      const handle = await client().start(declaring, { id: "d" })
      const error: unknown = await client()
        .get("d")
        .sendEvent("wrod", 1)
        .catch((refusal: unknown) => refusal)
      expect(PerdureError.is(error, "UNKNOWN_EVENT") && error.details).toEqual({
        instance: "d",
        workflow: "declaring",
        event: "wrod",
        declared: ["word"],
        nearest: "word",
      })
      expect(String(error)).toContain('did you mean "word"?')
      await expect(client().sendOrStart("declaring", { id: "d2", event: "wrod", payload: 1, input: undefined })).rejects.toMatchObject({
        code: "UNKNOWN_EVENT",
      })
      await expect(client().describe("d2")).rejects.toMatchObject({ code: "NOT_FOUND" })
      await handle.sendEvent("word", 5)
      expect(await handle.result()).toBe(5)
    })

    it("pages through the history", async () => {
      const handle = await client().start(echo, { input: richValue })
      await handle.result()
      const types = ["run.started", "step.started", "step.completed", "run.completed"]
      const { entries } = await handle.history()
      expect(entries.map(({ type }) => type)).toEqual(types)
      expect(entries[2]?.data).toStrictEqual({ id: "say", value: richValue })
      const first = await handle.history({ limit: 3 })
      const second = await handle.history({ limit: 3, cursor: first.cursor ?? "" })
      expect([...first.entries, ...second.entries]).toEqual(entries)
      expect(second).not.toHaveProperty("cursor")
      expect((await handle.history({ run: 1, limit: 2 })).entries).toHaveLength(2)
      expect((await handle.history({ order: "newest", limit: 1 })).entries[0]?.type).toBe("run.completed")
    })

    it("of an absent instance rejects every call with NOT_FOUND", async () => {
      const nobody = client().get("nobody")
      const calls = [
        () => nobody.result(),
        () => nobody.status(),
        () => nobody.describe(),
        () => nobody.steps(),
        () => nobody.history(),
        () => nobody.why(),
        () => nobody.sendEvent("word"),
        () => nobody.pause(),
        () => nobody.resume(),
        () => nobody.cancel(),
        () => nobody.terminate(),
        () => nobody.restart(),
        () => nobody.fork({ id: "f" }),
        () => nobody.query("words"),
        () => nobody.update("add"),
        () => nobody.delete(),
        () => nobody.changes()[Symbol.asyncIterator]().next(),
      ]
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "NOT_FOUND", details: { instance: "nobody" } })
    })
  })

  describe("result", () => {
    it("rejects with the workflow's own error, as it was thrown", async () => {
      const error = await (await client().start(failing)).result().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(TypeError)
      expect(error).toMatchObject({ name: "TypeError", message: "out of stock", left: 0n })
      expect((error as Error).cause).toBeInstanceOf(RangeError)
    })

    it("of a stalled instance rejects on request, also for a caller that waited before the instance stalled", async () => {
      const handle = await client().start(fickle, { id: "f" })
      await until(handle, "step.completed")
      const early = handle.result({ rejectWhenStalled: true }).catch((error: unknown) => error)
      await handle.restart({ from: "keep" })
      await until(handle, "workflow.stalled")
      const stalled = { code: "STALLED", details: { instance: "f", code: "JOURNAL_MISMATCH" } }
      expect(await early).toMatchObject(stalled)
      const late = await handle.result({ rejectWhenStalled: true, timeout: "20s" }).catch((error: unknown) => error)
      expect(late).toMatchObject(stalled)
      expect((late as Error).message).toMatch(/^instance "f" is stalled: the journal has step "choose".*, then resume$/)
      await expect(handle.result({ timeout: 1 })).rejects.toMatchObject({ code: "RESULT_TIMEOUT", message: expect.not.stringContaining("goes on") as string })
      await handle.terminate()
      await expect(handle.result({ rejectWhenStalled: true })).rejects.toMatchObject({ code: "TERMINATED" })
    })

    it("is complete for a caller of result(); descriptions and changes hide sensitive values", async () => {
      const handle = await client().start(secretive, { id: "s", input: "tell" })
      for (let i = 0; i < 2; i++) expect(await handle.result()).toBe("a secret")
      expect(JSON.stringify(await handle.describe())).not.toContain("a secret")
      const failed = await client().start(secretive, { id: "f", input: "fail" })
      for (let i = 0; i < 2; i++) await expect(failed.result()).rejects.toMatchObject({ message: expect.stringContaining("a secret") as string })
      expect(JSON.stringify(await failed.describe())).not.toContain("a secret")
      for await (const change of client().changes()) {
        expect(JSON.stringify(change)).not.toContain("a secret")
        if (change.type === "workflow.failed") break
      }
    })

    it("rejects with the reason when the instance is cancelled or terminated, also for a waiting caller", async () => {
      const cancelled = await client().start(patient, { id: "c" })
      const waiting = cancelled.result().catch((thrown: unknown) => thrown)
      await cancelled.cancel("no need")
      const error = await waiting
      expect(error).toBeInstanceOf(CancelledError)
      expect(error).toMatchObject({ code: "CANCELLED", details: { instance: "c", reason: "no need" } })
      const terminated = await client().start(patient, { id: "t" })
      await client().terminate("t", "broken")
      await expect(terminated.result()).rejects.toBeInstanceOf(TerminatedError)
      await expect(terminated.result()).rejects.toMatchObject({ details: { instance: "t", reason: "broken" } })
    })

    it("rejects when the time is up, and the instance goes on", async () => {
      const handle = await client().start(patient, { id: "p" })
      for (const timeout of [0, 20]) {
        const error = await handle.result({ timeout }).catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(ResultTimeoutError)
        expect(error).toMatchObject({ code: "RESULT_TIMEOUT", details: { instance: "p", timeoutMs: timeout } })
      }
      await handle.sendEvent("word", 1)
      expect(await handle.result({ timeout: "1m" })).toEqual([1])
    })
  })

  describe("events, queries and updates", () => {
    it("reach the workflow code and return its answers", async () => {
      const handle = await client().start(patient, { id: "p" })
      expect(await handle.update("add", richValue)).toBe(1)
      expect(await client().update("p", "add", undefined)).toBe(2)
      expect(await handle.query("words", [1], undefined)).toStrictEqual([richValue, undefined, [1], undefined])
      expect(await client().query("p", "words")).toStrictEqual([richValue, undefined])
      await handle.signal("word", new Map([[1, 2]]), { eventId: "e" })
      expect(await handle.result()).toStrictEqual([richValue, undefined, new Map([[1, 2]])])
      const received = (await handle.history()).entries.filter(({ type }) => type === "event.received")
      expect(received.map(({ data }) => data["eventId"])).toEqual(["e"])
    })

    it("an event sent twice with the same id is received once", async () => {
      const handle = await client().start(patient, { delay: "1h" })
      for (let i = 0; i < 3; i++) await handle.sendEvent("word", i, { eventId: "e" })
      await handle.sendEvent("word", 3, { eventId: "other" })
      await handle.terminate()
      expect((await handle.history()).entries.filter(({ type }) => type === "event.received").length).toBeLessThanOrEqual(2)
    })

    it("are refused with the engine's errors, and fail with the code's errors", async () => {
      const handle = await client().start(patient, { id: "p" })
      await untilWaiting(handle)
      await expect(handle.query("unknown")).rejects.toMatchObject({ code: "UNKNOWN_QUERY" })
      await expect(handle.update("unknown")).rejects.toMatchObject({ code: "UNKNOWN_UPDATE" })
      const broken = await handle.query("broken").catch((error: unknown) => error)
      expect(broken).toBeInstanceOf(RangeError)
      expect(broken).toMatchObject({ message: "cannot tell" })
      await handle.sendEvent("word", 1)
      await handle.result()
      await expect(handle.sendEvent("word", 1)).rejects.toMatchObject({ code: "INSTANCE_ENDED" })
    })
  })

  describe("controls", () => {
    it("pause and resume", async () => {
      const handle = await client().start(patient, { id: "p" })
      await untilWaiting(handle)
      expect(await handle.pause("a look")).toMatchObject({ id: "p", accepted: true })
      await until(handle, "workflow.paused")
      expect(await client().pause("p")).toMatchObject({ accepted: false, status: "paused", reason: expect.any(String) as string })
      expect(await client().resume("p")).toMatchObject({ id: "p", accepted: true })
      await until(handle, "workflow.resumed")
      expect(await handle.resume()).toMatchObject({ accepted: false, reason: expect.any(String) as string })
      await handle.sendEvent("word", 1)
      await handle.result()
      expect(await handle.pause()).toMatchObject({ accepted: false, status: "completed" })
    })

    it("pause and cancel of an instance that no worker runs have their effect in the answer", async () => {
      const paused = await client().start(patient, { id: "p", delay: "1d" })
      expect(await paused.pause()).toEqual({ id: "p", accepted: true, status: "paused" })
      expect(await paused.cancel("no need")).toEqual({ id: "p", accepted: true, status: "cancelled" })
      const cancelled = await client().start(patient, { id: "c", delay: "1d" })
      expect(await cancelled.cancel("no need")).toEqual({ id: "c", accepted: true, status: "cancelled" })
      await expect(cancelled.result()).rejects.toMatchObject({ code: "CANCELLED", details: { reason: "no need" } })
    })

    it("cancel and terminate, with and without undoing", async () => {
      const cancelled = await client().start(patient, { id: "c" })
      expect(await client().cancel("c", "why not")).toMatchObject({ accepted: true })
      await expect(cancelled.result()).rejects.toMatchObject({ code: "CANCELLED" })
      expect(await cancelled.cancel()).toMatchObject({ accepted: false, status: "cancelled" })
      const undone = await client().start(undoing, { id: "u" })
      await untilWaiting(undone)
      expect(await undone.terminate({ reason: "broken", rollback: true })).toMatchObject({ accepted: true })
      await expect(undone.result()).rejects.toMatchObject({ code: "TERMINATED", details: { reason: "broken" } })
      expect((await undone.steps()).map(({ type }) => type)).toContain("rollback")
    })

    it("restart, from the beginning and from a step", async () => {
      const handle = await client().start(echo, { id: "e", input: 1 })
      await handle.result()
      expect(await handle.restart()).toMatchObject({ id: "e", accepted: true })
      expect(await handle.result()).toBe(1)
      expect(await client().restart("e", { from: "say" })).toMatchObject({ accepted: true })
      expect(await handle.result()).toBe(1)
      expect(await handle.describe()).toMatchObject({ run: 3, status: "completed" })
      await expect(handle.restart({ from: "nowhere" })).rejects.toMatchObject({ code: "UNKNOWN_STEP" })
    })

    it("fork, with the same input and another", async () => {
      const handle = await client().start(echo, { id: "e", input: 1 })
      await handle.result()
      expect(await (await handle.fork({ id: "f" })).result()).toBe(1)
      const other = await client().fork("e", { id: "g", input: richValue })
      expect(other.id).toBe("g")
      expect(await other.result()).toStrictEqual(richValue)
      await expect(handle.fork({ id: "f" })).rejects.toMatchObject({ code: "ID_EXISTS" })
    })

    it("delete, once it is over", async () => {
      const handle = await client().start(patient, { id: "p" })
      const refusal = await handle.delete().catch((error: unknown) => error)
      expect(PerdureError.is(refusal, "NOT_ENDED")).toBe(true)
      await handle.terminate()
      expect(await handle.delete()).toEqual({ stillListed: false })
      expect((await client().list()).instances).toEqual([])
      await expect(client().describe("p")).rejects.toMatchObject({ code: "NOT_FOUND" })
      await client()
        .start(echo, { id: "e", input: 1 })
        .then((started) => started.result())
      expect(await client().delete("e")).toEqual({ stillListed: false })
      expect((await client().list()).instances).toEqual([])
    })
  })
}
