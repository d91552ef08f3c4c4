// Schedules and limits from the command line.

import type { ScheduleDescription, SchedulePage } from "perdure"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CliBed } from "./cli-bed.ts"

describe.each(["file", "server"] as const)("on a %s", (target) => {
  let bed: CliBed

  beforeAll(async () => {
    bed = await CliBed.open(target)
    await bed.engine.start("order", { id: "first", input: { n: 1, paid: true } })
  })

  afterAll(() => bed.close())

  describe("schedules", () => {
    it("are created from cron expressions and intervals", async () => {
      const made = await bed.perdure([
        "schedules",
        "create",
        "nightly",
        "-w",
        "order",
        "--cron",
        "0 2 * * *",
        "--time-zone",
        "Europe/Berlin",
        "--input",
        '{"n":1,"paid":true}',
        "-t",
        "night",
      ])
      expect(made.code).toBe(0)
      expect(made.stdout).toMatch(
        /^nightly {2}active\nstarts {4}order, 0 2 \* \* \* in Europe\/Berlin\noverlap {3}skip\ntags {6}night\ninput {5}\{"n":1,"paid":true\}\nnext {6}/,
      )
      const often = await bed.json<ScheduleDescription>(
        "schedules",
        "create",
        "often",
        "-w",
        "order",
        "--every",
        "5m",
        "--overlap",
        "queue",
        "--paused",
        "--timeout",
        "1m",
      )
      expect(often).toMatchObject({ everyMs: 300_000, overlap: "queue", status: "paused", timeoutMs: 60_000 })
    })

    it("are listed and shown", async () => {
      const { stdout } = await bed.perdure(["schedules", "list"], { width: 80 })
      const [head, nightly, often] = stdout.split("\n")
      expect(head).toBe("ID       WORKFLOW  TIMES                       OVERLAP  STATUS  NEXT")
      expect(nightly).toMatch(/^nightly {2}order {5}0 2 \* \* \* in Europe\/Berlin {2}skip {5}active {2}in /)
      expect(often).toMatch(/^often .* queue {4}paused/)
      expect((await bed.json<SchedulePage>("schedules", "list", "--limit", "1")).cursor).toBeDefined()
      expect((await bed.perdure(["schedules", "show", "none"])).code).toBe(3)
    })

    it("are triggered by hand", async () => {
      const { stdout } = await bed.perdure(["schedules", "trigger", "nightly", "--input", '{"n":4,"paid":true}'])
      expect(await bed.engine.get(stdout.trim()).result()).toEqual({ n: 4, amount: 0 })
      expect((await bed.perdure(["schedules", "show", "nightly"])).stdout).toMatch(
        /1 started, 0 skipped, 0 missed\n\nFOR {7}INSTANCE .*\n.* completed {2}trigger\n$/,
      )
    })

    it("are backfilled", async () => {
      const { stdout } = await bed.perdure(["schedules", "backfill", "nightly", "--from", "2d", "--overlap", "allow"])
      expect(stdout).toMatch(/^FOR +OUTCOME +INSTANCE\n(.* started +nightly:.*\n){2}$/)
      expect((await bed.perdure(["schedules", "backfill", "nightly", "--from", "1m"])).stdout).toBe("no times in that stretch\n")
    })

    it("are paused, resumed and deleted", async () => {
      expect((await bed.perdure(["schedules", "pause", "nightly", "--reason", "holiday"])).stdout).toBe("pause of schedule nightly accepted\n")
      expect((await bed.perdure(["schedules", "pause", "nightly"])).code).toBe(1)
      expect((await bed.perdure(["schedules", "show", "nightly"])).stdout).toMatch(/^paused {4}since .*: holiday$/m)
      expect((await bed.perdure(["schedules", "resume", "nightly"])).code).toBe(0)
      expect((await bed.perdure(["schedules", "delete", "nightly"])).stdout).toBe("deleted schedule nightly\n")
      expect((await bed.perdure(["schedules", "delete", "nightly"])).code).toBe(3)
    })

    it("beside a file refuse a version that nobody knows, unless that is allowed; a server takes the newest", async () => {
      const create = ["schedules", "create", "future", "-w", "order", "--version", "9", "--every", "1m", "--paused"]
      const { code, stderr } = await bed.perdure(create)
      const isRefused = /UNKNOWN_WORKFLOW: no process knows version "9" .* or say --allow-unknown/.test(stderr)
      expect([code, isRefused]).toEqual(target === "file" ? [3, true] : [0, false])
      expect((await bed.perdure([...create, "--allow-unknown", "--if-exists", "update"])).code).toBe(0)
      expect((await bed.perdure(["schedules", "delete", "future"])).code).toBe(0)
    })

    it.each([
      [["create", "x", "-w", "order"], 2, /either --cron or --every/],
      [["create", "x", "-w", "order", "--cron", "61 * * * *"], 2, /BAD_SCHEDULE/],
      [["create", "x", "-w", "nope", "--every", "1m"], 3, /UNKNOWN_WORKFLOW/],
      [["create", "often", "-w", "order", "--every", "1m"], 1, /SCHEDULE_EXISTS/],
      [["create", "x", "-w", "order", "--every", "1m", "--overlap", "maybe"], 2, /Allowed choices are skip, queue/],
      [["backfill", "often"], 2, /required option '--from <time>'/],
    ])("refuse %j", async (args, code, message) => {
      const answer = await bed.perdure(["schedules", ...args])
      expect(answer.stderr).toMatch(message)
      expect(answer.code).toBe(code)
    })
  })

  describe("limits", () => {
    it("are shown, changed while they hold, and reset", async () => {
      expect((await bed.perdure(["limits", "show", "limited"])).stdout).toBe("3 at a time\n10 may start in 1m\n")
      const set = await bed.perdure(["limits", "set", "limited", "--concurrency", "5", "--rate", "20/30s"])
      expect(set).toEqual({ code: 0, stdout: "5 at a time (the code says 3)\n20 may start in 30s (the code says 10 may start in 1m)\n", stderr: "" })
      expect((await bed.perdure(["limits", "set", "limited", "--concurrency", "unlimited"])).stdout).toMatch(/^unlimited at a time/)
      expect(await bed.json("limits", "reset", "limited")).toEqual({ concurrency: [{ limit: 3 }], rateLimit: { limit: 10, perMs: 60_000 } })
      expect((await bed.perdure(["limits", "show", "order"])).stdout).toBe("workflow order has no limits\n")
    })

    it.each([
      [["set", "order", "--concurrency", "2"], 3, /UNKNOWN_LIMIT/],
      [["set", "limited"], 2, /--concurrency, --rate or both/],
      [["set", "limited", "--rate", "10"], 2, /not of the form 10\/1m/],
      [["set", "limited", "--concurrency", "many"], 2, /neither a whole number nor "unlimited"/],
      [["set", "limited", "--concurrency", "user=2"], 3, /UNKNOWN_LIMIT/],
      [["set", "limited", "--concurrency", "user=2,5"], 2, /names some limits and not others/],
    ])("refuse %j", async (args, code, message) => {
      const answer = await bed.perdure(["limits", ...args])
      expect(answer.stderr).toMatch(message)
      expect(answer.code).toBe(code)
    })
  })
})
