// Commands that control one instance or many.

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CliBed } from "./cli-bed.ts"

describe.each(["file", "server"] as const)("on a %s", (target) => {
  let bed: CliBed
  let count = 0

  beforeAll(async () => {
    bed = await CliBed.open(target)
  })

  afterAll(() => bed.close())

  /** Instances that wait for a payment. */
  async function waiting(number: number, tag = `t${++count}`): Promise<{ tag: string; ids: readonly string[] }> {
    const ids = Array.from({ length: number }, (_, index) => `${tag}-${index}`)
    for (const id of ids) await bed.engine.start("order", { id, input: { n: 1 }, tags: [tag] })
    for (const id of ids) await bed.until(id, "waiting")
    return { tag, ids }
  }

  const one = async () => (await waiting(1)).ids[0] ?? ""

  describe("one instance", () => {
    it("is paused and resumed", async () => {
      const id = await one()
      expect((await bed.perdure(["pause", id, "--reason", "lunch"])).stdout).toMatch(new RegExp(`^pause of ${id} accepted: it is `))
      await bed.until(id, "paused")
      expect(await bed.perdure(["pause", id])).toEqual({ code: 1, stdout: `no, ${id} stays paused: it is paused already\n`, stderr: "" })
      expect((await bed.perdure(["resume", id])).code).toBe(0)
      await bed.until(id, "waiting")
    })

    it("gets only the events that its workflow declares; an event that nothing waits for is shown", async () => {
      const id = `booking-${++count}`
      await bed.engine.start("booking", { id })
      await bed.until(id, "waiting")
      const refused = await bed.perdure(["send", id, "confirmd", "true"])
      expect(refused).toMatchObject({ code: 2, stdout: "" })
      expect(refused.stderr).toContain(`UNKNOWN_EVENT: instance "${id}" takes no event "confirmd"`)
      expect(refused.stderr).toContain('declares "confirmed", "moved"; did you mean "confirmed"?')
      expect(await bed.perdure(["send", id, "moved", '"Monday"'])).toMatchObject({ code: 0 })
      for await (const { type } of bed.engine.get(id).changes()) if (type === "event.received") break
      const sentence = '1 event "moved" is buffered, and nothing waits for it'
      expect((await bed.perdure(["why", id])).stdout).toContain(sentence)
      expect((await bed.perdure(["show", id])).stdout).toContain(sentence)
      expect(await bed.perdure(["send", id, "confirmed", "true"])).toMatchObject({ code: 0 })
      expect(await bed.engine.get(id).result()).toBe(true)
      expect((await bed.perdure(["show", id])).stdout).toContain('1 event "moved" came, and nothing took it')
    })

    it("is cancelled, with a reason", async () => {
      const id = await one()
      expect(await bed.perdure(["cancel", id, "--reason", "changed my mind"])).toMatchObject({ code: 0 })
      await expect(bed.engine.get(id).result()).rejects.toThrow(/changed my mind/)
      const answer = await bed.perdure(["cancel", id, "--json"])
      expect(answer.code).toBe(1)
      expect(JSON.parse(answer.stdout)).toMatchObject({ accepted: false, status: "cancelled" })
    })

    it("is terminated, restarted from a step, and deleted", async () => {
      const id = await one()
      expect((await bed.perdure(["delete", id])).stderr).toMatch(/NOT_ENDED: .* terminate it before you delete it/)
      expect((await bed.perdure(["terminate", id, "--rollback", "--reason", "enough"])).code).toBe(0)
      await bed.until(id, "terminated")
      expect((await bed.perdure(["restart", id, "--from", "nowhere"])).code).toBe(3)
      expect((await bed.perdure(["restart", id, "--from", "payment"])).stdout).toContain("restart of")
      expect((await bed.engine.describe(id)).run).toBe(2)
      await bed.engine.get(id).sendEvent("payment", { amount: 1 })
      await bed.engine.get(id).result()
      expect(await bed.perdure(["delete", id])).toEqual({ code: 0, stdout: `deleted ${id}\n`, stderr: "" })
      expect((await bed.perdure(["show", id])).code).toBe(3)
    })

    it("is forked with another input", async () => {
      const id = await one()
      expect(await bed.perdure(["fork", id, "--id", `${id}-copy`, "--input", '{"n":9,"paid":true}'])).toMatchObject({ code: 0, stdout: `${id}-copy\n` })
      expect(await bed.engine.get(`${id}-copy`).result()).toEqual({ n: 9, amount: 0 })
      expect((await bed.perdure(["fork", id])).stderr).toMatch(/required option '--id <id>' not specified/)
    })
  })

  describe("bulk", () => {
    it("shows what it would do", async () => {
      const { tag, ids } = await waiting(3)
      const { stdout, code } = await bed.perdure(["bulk", "cancel", "--tag", tag, "--dry-run"])
      expect(code).toBe(0)
      expect(stdout).toMatch(/\nwould cancel 3 instances\n$/)
      expect(await bed.json("bulk", "cancel", "--tag", tag, "--dry-run")).toEqual({ action: "cancel", dryRun: true, matched: 3, instances: ids })
      expect(await bed.engine.count({ tag }, "status")).toMatchObject({ waiting: 3 })
    })

    it("does nothing unless somebody says yes", async () => {
      const { tag } = await waiting(2)
      const answer = await bed.perdure(["bulk", "terminate", "--tag", tag])
      expect(answer).toMatchObject({ code: 2, stdout: "" })
      expect(answer.stderr).toMatch(/USAGE: Terminate 2 instances\? There is no terminal to ask on; say --yes/)
      expect(await bed.engine.count({ tag }, "status")).toMatchObject({ waiting: 2 })
    })

    it("wants to be told which", async () => {
      expect((await bed.perdure(["bulk", "cancel", "--yes"])).stderr).toMatch(/give a filter such as --workflow or --status, or --all/)
      expect((await bed.perdure(["bulk", "annoy", "--all"])).stderr).toMatch(/Allowed choices are pause, resume/)
      expect(await bed.perdure(["bulk", "cancel", "--tag", "none", "--yes"])).toMatchObject({ code: 0, stdout: "no instances match\n" })
    })

    it("does it to all that match, oldest first, and to no other", async () => {
      const { tag, ids } = await waiting(12)
      const { tag: others } = await waiting(2)
      expect(await bed.perdure(["bulk", "terminate", "--tag", tag, "--limit", "10", "--yes", "--concurrency", "3"])).toEqual({
        code: 0,
        stdout: "10 of 10 instances: terminate accepted\n",
        stderr: "",
      })
      expect(await bed.engine.count({ tag }, "status")).toMatchObject({ terminated: 10, waiting: 2 })
      expect(await bed.engine.get(ids[11] ?? "").status()).toBe("waiting")
      expect(await bed.engine.count({ tag: others }, "status")).toMatchObject({ waiting: 2 })
    })

    it("goes on where one is unchanged or fails, and says so in the end", async () => {
      const { tag, ids } = await waiting(5)
      await bed.engine.terminate(ids[2] ?? "")
      const unchanged = await bed.perdure(["bulk", "pause", "--tag", tag, "--yes"])
      expect(unchanged).toMatchObject({ code: 0, stdout: "4 of 5 instances: pause accepted\n1 unchanged: it is terminated\n" })
      const failing = await bed.perdure(["bulk", "delete", "--tag", tag, "--yes", "--json"])
      expect(failing.code).toBe(1)
      expect(JSON.parse(failing.stdout)).toMatchObject({ matched: 5, done: 1, skipped: [], failed: Array.from({ length: 4 }, () => ({ code: "NOT_ENDED" })) })
      expect((await bed.perdure(["bulk", "delete", "--tag", tag, "--yes"])).stdout).toMatch(/^0 of 4 instances: deleted\nfailed t\d+-\d NOT_ENDED: /)
    })
  })
})
