// Commands on instances, called in this process, on a file that an engine executes.

import type { InstanceDescription, ListPage } from "perdure"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CliBed } from "./cli-bed.ts"

describe.each(["file", "server"] as const)("on a %s", (target) => {
  let bed: CliBed

  beforeAll(async () => {
    bed = await CliBed.open(target)
    await bed.engine.start("order", { id: "order-1", input: { n: 1 }, tags: ["web"] })
    await bed.engine.start("order", { id: "order-2", input: { n: 2, paid: true }, tags: ["web", "paid"] })
    await bed.engine.start("refund", { id: "refund-1", input: { n: 1 } })
    await bed.engine.get("order-2").result()
    await bed.engine
      .get("refund-1")
      .result()
      .catch(() => undefined)
  })

  afterAll(() => bed.close())

  describe("start", () => {
    it("prints the id and nothing else", async () => {
      expect(await bed.perdure(["start", "order", '{"n":3,"paid":true}', "--id", "s-1"])).toEqual({ code: 0, stdout: "s-1\n", stderr: "" })
    })

    it("follows the instance to its result", async () => {
      const answer = await bed.perdure(["start", "order", '{"n":4,"paid":true}', "--id", "s-2", "--wait"])
      expect(answer).toEqual({ code: 0, stdout: '{\n  "n": 4,\n  "amount": 0\n}\n', stderr: "started s-2\n" })
    })

    it("exits with 1 if what it follows fails", async () => {
      const { code, stdout, stderr } = await bed.perdure(["start", "refund", '{"n":4}', "--id", "s-3", "--wait"])
      expect(code).toBe(1)
      expect(stdout).toBe("")
      expect(stderr).toMatch(
        /^started s-3\nerror INSTANCE_FAILED: instance "s-3" failed: StepFailedError: .* the bank is \\u001b\[31mclosed\\u001b\[39m until Monday\nError: the bank is \\u001b\[31mclosed\\u001b\[39m\nuntil Monday\n +at .*shop\.ts:\d+:\d+\)\nreported as StepFailedError: .*\nuntil Monday\n$/,
      )
    })

    it("takes its input from a file or from stdin", async () => {
      const file = bed.file("input.json", '{"n":5,"paid":true}')
      expect((await bed.perdure(["start", "order", "--input-file", file, "--wait"])).stdout).toContain('"n": 5')
      expect((await bed.perdure(["start", "order", "-", "--wait"], { stdin: '{"n":6,"paid":true}' })).stdout).toContain('"n": 6')
    })

    it("takes tags, a delay and a version, and says what it made as JSON", async () => {
      const made = await bed.json("start", "order", '{"n":7}', "--id", "s-7", "-t", "a", "-t", "b", "--delay", "1h", "--version", "1")
      expect(made).toEqual({ id: "s-7", workflow: "order", version: "1" })
      expect(await bed.engine.describe("s-7")).toMatchObject({ tags: ["a", "b"], status: "queued", input: { n: 7 } })
    })

    it("puts it into the task queue of those before it, or into the one that is given", async () => {
      await bed.engine.start("report", { id: "report-1" })
      await bed.perdure(["start", "report", "--id", "report-2"])
      await bed.perdure(["start", "report", "--id", "report-3", "--queue", "others"])
      const { stdout } = await bed.perdure(["list", "--workflow", "report", "--oldest"])
      expect(stdout).toMatch(/^ID .* QUEUE\nreport-1 .* reports\nreport-2 .* reports\nreport-3 .* others\n$/)
      expect((await bed.json<ListPage>("list", "--queue", "reports")).instances.map(({ id }) => id)).toEqual(["report-2", "report-1"])
      expect((await bed.perdure(["show", "report-3"])).stdout).toContain(" · queue others\n")
    })

    it.each([
      [
        "an input that is no JSON",
        ["start", "order", "hello"],
        2,
        /USAGE: the input is not JSON: .*; a text needs double quotes inside the shell's: '"hello"'/,
      ],
      ["an input given twice", ["start", "order", "1", "-f", "x"], 2, /either as an argument or in a file/],
      ["a workflow that nothing is known of", ["start", "nope"], 3, /UNKNOWN_WORKFLOW: /],
      [
        "a version that nobody knows",
        ["start", "order", "--version", "9"],
        3,
        /UNKNOWN_WORKFLOW: no process knows version "9" .* known is version "1".* or say --allow-unknown/,
      ],
      ["an id that is taken", ["start", "order", "--id", "order-1"], 1, /ID_EXISTS: instance "order-1" exists/],
      ["a bad id", ["start", "order", "--id", "a b"], 2, /BAD_ID/],
      ["a bad delay", ["start", "order", "--delay", "soon"], 2, /BAD_DURATION: --delay: "soon" is not a duration/],
      ["no workflow", ["start"], 2, /USAGE: missing required argument 'workflow'/],
    ])("refuses %s", async (_, args, code, message) => {
      const answer = await bed.perdure(args)
      expect(answer.stderr).toMatch(message)
      expect(answer.stderr.split("\n")).toHaveLength(2)
      expect(answer).toMatchObject({ code, stdout: "" })
    })
  })

  describe("result", () => {
    it("is printed as JSON", async () => {
      expect((await bed.perdure(["result", "order-2"])).stdout).toBe('{\n  "n": 2,\n  "amount": 0\n}\n')
      expect(await bed.json("result", "order-2")).toEqual({ id: "order-2", workflow: "order", status: "completed", result: { n: 2, amount: 0 } })
    })

    it("says that it is not there yet, with an exit code of its own", async () => {
      expect(await bed.perdure(["result", "order-1"])).toEqual({
        code: 5,
        stdout: "",
        stderr: 'error NOT_YET: instance "order-1" is waiting and has no result yet; perdure why order-1 says what it waits for\n',
      })
      const answer = await bed.perdure(["result", "order-1", "--wait", "20ms", "--json"])
      expect(answer).toMatchObject({ code: 5, stderr: "" })
      expect(JSON.parse(answer.stdout)).toEqual({ id: "order-1", workflow: "order", status: "waiting" })
    })

    it("of a stalled instance is not waited for, and has an exit code of its own", async () => {
      const handle = await bed.engine.start("fickle", { id: "fickle-1" })
      await handle.result()
      await handle.restart({ from: "keep" })
      const stderr = expect.stringMatching(/^error STALLED: instance "fickle-1" is stalled: the journal has step "choose" .*, then resume\n$/) as string
      expect(await bed.perdure(["result", "fickle-1", "--wait"])).toEqual({ code: 6, stdout: "", stderr })
      expect(await bed.perdure(["result", "fickle-1"])).toEqual({ code: 6, stdout: "", stderr })
      const answer = await bed.perdure(["result", "fickle-1", "--json"])
      expect(answer).toMatchObject({ code: 6, stderr: "" })
      expect(JSON.parse(answer.stdout)).toMatchObject({ id: "fickle-1", status: "stalled", error: { code: "STALLED" } })
      await handle.terminate()
    })

    it("is waited for", async () => {
      await bed.perdure(["start", "order", '{"n":8}', "--id", "r-1"])
      const waiting = bed.perdure(["result", "r-1", "--wait"])
      expect(await bed.perdure(["send", "r-1", "payment", '{"amount":3}'])).toEqual({ code: 0, stdout: "sent payment to r-1\n", stderr: "" })
      expect((await waiting).stdout).toContain('"amount": 3')
    })

    it("is the error of an instance that failed", async () => {
      const answer = await bed.perdure(["result", "refund-1", "--json"])
      expect(answer.code).toBe(1)
      expect(JSON.parse(answer.stdout)).toMatchObject({ status: "failed", error: { name: "StepFailedError", code: "STEP_FAILED", cause: { name: "Error" } } })
    })
  })

  describe("list", () => {
    const lines = async (...args: readonly string[]) => (await bed.perdure(["list", ...args], { width: 80 })).stdout.trimEnd().split("\n")

    it("is a table", async () => {
      const [head, ...rows] = await lines("--id-prefix", "order-")
      expect(head).toBe("ID       WORKFLOW  STATUS     CREATED   UPDATED  TAGS")
      expect(rows).toHaveLength(2)
      expect(rows[0]).toMatch(/^order-2 {2}order@1 {3}completed {2}\d\d:\d\d:\d\d {2}\S.* {2}web, paid$/)
      expect(rows[1]).toMatch(/^order-1 {2}order@1 {3}waiting {4}\d\d:\d\d:\d\d {2}\S.* {2}web$/)
    })

    it.each([
      [
        ["--status", "failed"],
        ["refund-1", "s-3"],
      ],
      [["--status", "failed,waiting", "--id-prefix", "order-"], ["order-1"]],
      [["-s", "failed", "-s", "waiting", "--oldest", "--limit", "1"], ["order-1"]],
      [["--tag", "paid"], ["order-2"]],
      [
        ["--workflow", "refund"],
        ["refund-1", "s-3"],
      ],
      [["--workflow", "refund", "--until", "1h"], []],
      [
        ["--workflow", "refund", "--since", "1h", "--version", "1"],
        ["refund-1", "s-3"],
      ],
      [["--workflow", "refund", "--since", "2100-01-01"], []],
    ])("filters by %j", async (args, ids) => {
      expect((await bed.json<ListPage>("list", ...args)).instances.map(({ id }) => id).toSorted()).toEqual(ids)
    })

    it("goes on with a cursor, or to the end", async () => {
      const first = await bed.json<ListPage>("list", "--limit", "3")
      expect(first.instances).toHaveLength(3)
      const second = await bed.json<ListPage>("list", "--limit", "3", "--cursor", first.cursor ?? "")
      const all = (await bed.perdure(["list", "--all", "--json"])).stdout.trimEnd().split("\n")
      const ids = all.map((line) => (JSON.parse(line) as { id: string }).id)
      expect(ids.slice(0, 6)).toEqual([...first.instances, ...second.instances].map(({ id }) => id))
      expect(ids).toHaveLength(await total())
      const page = await bed.perdure(["list", "--limit", "3"])
      expect(page.stderr).toMatch(/^there are more: --cursor \S+, or --all\n$/)
      expect((await bed.perdure(["list", "--all"])).stdout.trimEnd().split("\n")).toHaveLength(1 + ids.length)
    })

    const total = async () => Object.values(await bed.engine.count({}, "status")).reduce((sum, count) => sum + count, 0)

    it.each([
      [["--status", "done"], /"done" is not a status; use one of queued, running/],
      [["--limit", "0"], /--limit needs a whole number of at least 1/],
      [["--limit", "5000"], /BAD_\w+: .*limit/],
      [["--since", "yesterday"], /--since is "yesterday"/],
      [["--cursor", "x"], /cursor/],
      [["--watch", "--all"], /--watch goes with --limit only/],
      [["extra"], /too many arguments/],
    ])("refuses %j", async (args, message) => {
      const answer = await bed.perdure(["list", ...args])
      expect(answer.stderr).toMatch(message)
      expect(answer.code).toBe(2)
    })
  })

  describe("count", () => {
    it("counts by status, and by workflow", async () => {
      const { stdout } = await bed.perdure(["count", "--id-prefix", "order-"])
      expect(stdout).toBe("STATUS     COUNT\nwaiting        1\ncompleted      1\ntotal          2\n")
      expect(await bed.json("count", "--by", "workflow", "--id-prefix", "refund-")).toEqual({ refund: 1 })
      expect((await bed.perdure(["count", "--tag", "none"])).stdout).toBe("no instances\n")
    })
  })

  describe("show", () => {
    it("draws an instance that waits", async () => {
      const { stdout } = await bed.perdure(["show", "order-1"], { width: 80 })
      const [head, about, , axis, ...rows] = stdout.split("\n")
      expect(head).toMatch(/^order-1 {2}order@1 {2}waiting$/)
      expect(about).toMatch(/^created \d\d:\d\d:\d\d, (now|\d+s ago) · tags web$/)
      expect(axis).toMatch(/^ {9}0 +\d+\S+$/)
      expect(rows[0]).toMatch(/^reserve {2} *█+ +\d+ms$/)
      expect(rows[1]).toMatch(/^ {2}lock {3} *█+ +\d+ms$/)
      expect(rows[2]).toMatch(/^payment {2} *▒*▸ {2}waiting since \d\d:\d\d:\d\d$/)
      expect(rows.slice(3)).toEqual(["", 'input   {"n":1}', ""])
    })

    it("fits a terminal of 58 columns, and so do lists, histories and what happens", async () => {
      const shown = [
        ["show", "order-1"],
        ["show", "refund-1"],
        ["list"],
        ["list", "--workflow", "order"],
        ["history", "order-1"],
        ["history", "refund-1"],
        ["count"],
        ["tail", "refund-1", "--until-end"],
      ]
      for (const args of shown) {
        const { stdout } = await bed.perdure(args, { width: 58 })
        // The text of an error is not cut.
        const lines = stdout.split("\n").filter((line) => !/^error|^ +at /.test(line))
        expect(lines.filter((line) => line.length > 58)).toEqual([])
      }
    })

    it("draws the attempts of a step that failed, and shows nothing that moves the cursor", async () => {
      const { stdout } = await bed.perdure(["show", "refund-1"], { width: 80 })
      expect(stdout).toMatch(/^look up {3}/m)
      expect(stdout).toMatch(/^pay back +█*╳.*╳ +failed \d+ms ×2$/m)
      expect(stdout).toContain('error   StepFailedError: step "pay back" failed after 2 attempts: the bank is \\u001b[31mclosed\\u001b[39m until Monday\n')
      // oxlint-disable-next-line no-control-regex
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
    })

    it("shows where the code of the user threw, and frames of Perdure only with --debug", async () => {
      const isOurs = /^.*\/src\/(?:core|engine)\/.*$/m
      expect((await bed.perdure(["show", "refund-1"])).stdout).toMatch(/until Monday\n +at \S+ \(.*shop\.ts:24:13\)\n$/)
      const full = (await bed.perdure(["show", "refund-1", "--full"])).stdout
      expect(full).toMatch(
        /^error {3}Error: the bank is .*\n {8}until Monday\n {12}at \S+ \(.*shop\.ts:24:13\)\n {8}reported as StepFailedError: step "pay back" /m,
      )
      expect(full).not.toMatch(isOurs)
      expect((await bed.perdure(["show", "refund-1", "--debug"])).stdout).toMatch(isOurs)
      const result = await bed.perdure(["result", "refund-1"])
      expect(result.stderr).toMatch(/^error INSTANCE_FAILED: .*\nError: the bank is .*\nuntil Monday\n {4}at \S+ \(.*shop\.ts:24:13\)\nreported as /)
      expect(result.stderr).not.toMatch(isOurs)
      expect((await bed.perdure(["result", "refund-1", "--debug"])).stderr).toMatch(isOurs)
      expect((await bed.perdure(["history", "refund-1"])).stdout).toMatch(/ step\.failed .* Error: the bank is .* at \S+ \(.*shop\.ts:24:13\)$/m)
      const { error } = await bed.json<{ error: { stack?: string; cause: { stack: string } } }>("show", "refund-1")
      expect(error.stack).toBeUndefined()
      expect(error.cause.stack).toMatch(/^Error: the bank[^]*shop\.ts:24:13\)$/)
    })

    it("gives everything as JSON", async () => {
      const shown = await bed.json<InstanceDescription>("show", "order-2")
      expect(shown).toMatchObject({ id: "order-2", status: "completed", result: { n: 2, amount: 0 } })
      expect(shown.steps.map(({ id }) => id)).toEqual(["reserve", "reserve/lock"])
    })

    it("says that there is none", async () => {
      expect(await bed.perdure(["show", "nobody"])).toEqual({
        code: 3,
        stdout: "",
        stderr: 'error NOT_FOUND: there is no instance "nobody"; it was never started, or is deleted\n',
      })
    })
  })

  describe("why and history", () => {
    it("why says what an instance waits for", async () => {
      const { stdout } = await bed.perdure(["why", "order-1"])
      expect(stdout).toMatch(/^order-1 is waiting\n {2}wait "payment" is for event "payment" since /)
      expect(await bed.json("why", "order-1")).toMatchObject({ status: "waiting" })
    })

    it("history is a table of entries", async () => {
      const { stdout } = await bed.perdure(["history", "order-2"], { width: 80 })
      const [head, first] = stdout.split("\n")
      expect(head).toBe("POSITION  RUN  AT        TYPE            WHAT")
      expect(first).toMatch(/^ {7}1 {4}1 {2}\d\d:\d\d:\d\d {2}run\.started {5}run=1 {2}workflow=order {2}version=1/)
      expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80)
    })

    it("history is paged", async () => {
      const all = (await bed.perdure(["history", "order-2", "--all", "--json"])).stdout.trimEnd().split("\n")
      const page = await bed.perdure(["history", "order-2", "--limit", "2"])
      expect(page.stdout.trimEnd().split("\n")).toHaveLength(3)
      expect(page.stderr).toBe("there are more: --cursor 2, or --all\n")
      const rest = await bed.json<{ entries: unknown[] }>("history", "order-2", "--cursor", "2", "--run", "1")
      expect(rest.entries).toEqual(all.slice(2).map((line) => JSON.parse(line) as unknown))
    })
  })

  describe("what is asked of the code", () => {
    it("an update is done by the worker, and answered", async () => {
      expect(await bed.perdure(["update", "order-1", "grant", "15"])).toEqual({ code: 0, stdout: "15\n", stderr: "" })
      expect(await bed.perdure(["update", "order-1", "nope"])).toMatchObject({ code: 3, stderr: expect.stringMatching(/UNKNOWN_UPDATE/) as string })
    })

    it("a query is answered by a server; beside a file the CLI has no code to ask", async () => {
      const answer = await bed.perdure(["query", "order-1", "discount"])
      const isServer = target === "server"
      expect(answer).toMatchObject(isServer ? { code: 0, stdout: "15\n" } : { code: 4, stdout: "" })
      expect(answer.stderr).toMatch(isServer ? /^$/ : /^error NO_WORKER: a query is answered by the workflow's code, .* \(--url\)/)
      expect((await bed.perdure(["query", "order-1", "nope"])).code).toBe(isServer ? 3 : 4)
    })
  })
})
