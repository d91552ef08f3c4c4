import { Argument, Command, Option } from "commander"
import { describe, expect, it } from "vitest"
import { complete, splitLine } from "./completion.ts"

function program(): Command {
  const root = new Command("perdure").option("--db <file>", "a file").option("--json", "as JSON").option("--profile <name>", "a profile")
  root
    .command("list")
    .option("-w, --workflow <name>", "of a workflow")
    .addOption(new Option("--status <status>", "of a status").choices(["running", "waiting"]))
    .option("--all", "all")
  root.command("dev").option("--wrangler <file>", "a Worker")
  root.command("show").argument("<id>")
  root.command("start").argument("<workflow>").argument("[input]")
  root.command("bulk").addArgument(new Argument("<action>").choices(["pause", "cancel"]))
  root.command("secret", { hidden: true })
  root.command("schedules").helpCommand(false).command("show").argument("<id>")
  return root
}

function words(...typed: readonly string[]): readonly string[] {
  const completion = complete(program(), typed)
  if (completion.kind !== "words") throw new Error(`it completes ${completion.kind}`)
  return completion.words.map(({ word }) => word)
}

describe("completion", () => {
  it("offers commands, not those for programs", () => {
    expect(words("")).toEqual(["list", "dev", "show", "start", "bulk", "schedules", "help"])
    expect(words("--db", "x", "s")).toEqual(["show", "start", "schedules"])
    expect(words("schedules", "")).toEqual(["show"])
    expect(words("help", "sch")).toEqual(["schedules"])
  })

  it("offers the options of a command, and those of all", () => {
    expect(words("list", "-")).toEqual(["--workflow", "--status", "--all", "--db", "--json", "--profile", "--help"])
    expect(words("list", "--st")).toEqual(["--status"])
  })

  it("offers what an option or an argument may be", () => {
    expect(words("list", "--status", "w")).toEqual(["waiting"])
    expect(words("bulk", "")).toEqual(["pause", "cancel"])
    expect(words("bulk", "pause", "")).toEqual([])
  })

  it("knows where names of instances, schedules, workflows and profiles are wanted, and of what database", () => {
    expect(complete(program(), ["--db", "a.db", "show", "or"])).toEqual({ kind: "names", of: "instances", prefix: "or", globals: { db: "a.db" } })
    expect(complete(program(), ["schedules", "show", ""])).toMatchObject({ kind: "names", of: "schedules" })
    expect(complete(program(), ["start", "o"])).toMatchObject({ kind: "names", of: "workflows", prefix: "o" })
    expect(complete(program(), ["list", "-w", ""])).toMatchObject({ kind: "names", of: "workflows" })
    expect(complete(program(), ["list", "--profile", ""])).toMatchObject({ kind: "names", of: "profiles" })
  })

  it("leaves files to the shell", () => {
    expect(complete(program(), ["list", "--db", "pe"])).toEqual({ kind: "files" })
    expect(complete(program(), ["dev", "--wrangler", "wr"])).toEqual({ kind: "files" })
  })

  it.each([
    ["perdure list --st", ["perdure", "list", "--st"]],
    ["perdure list ", ["perdure", "list", ""]],
    [`perdure start "a b" 'c"d' e\\ f`, ["perdure", "start", "a b", 'c"d', "e f"]],
  ])("reads a line as a shell does: %s", (line, expected) => {
    expect(splitLine(line)).toEqual(expected)
  })
})
