import { describe, expect, it } from "vitest"
import { readCommand } from "./arguments.ts"

const idsOf = (...args: readonly string[]) => {
  const command = readCommand(args)
  if ("complaint" in command || command.does !== "measure") throw new Error(`no measurement: ${JSON.stringify(command)}`)
  return command.with.workloads.map(({ id }) => id)
}

describe("the measuring command", () => {
  it("measures the workloads, or how costs grow", () => {
    expect(idsOf()).toContain("W1")
    expect(idsOf().filter((id) => id.startsWith("growth"))).toEqual([])
    expect(idsOf("--http")).toEqual(["HTTP"])
    expect(idsOf("--dialect")).toEqual(["dialect-W1", "dialect-W3", "dialect-cloudflare"])
    expect(idsOf("--activities")).toEqual(["activities-throughput", "activities-start", "activities-idle"])
    expect(idsOf("--only", "dialect")).toEqual(idsOf("--dialect"))
    expect(idsOf()).toEqual(expect.arrayContaining(idsOf("--objects")))
    expect(idsOf("--objects")).toContain("W1-objects")
    expect(idsOf("--growth")).toEqual(["growth-steps", "growth-rows", "growth-sleeping", "growth-resident"])
  })

  it("picks workloads by name out of everything, and by what stands before a dash", () => {
    expect(idsOf("--only", "W3, growth-rows")).toEqual(["W3", "W3-replay", "W3-objects", "growth-rows"])
  })

  it("keeps and writes about a run only when it is asked to", () => {
    expect(readCommand(["--growth"])).not.toHaveProperty("with.section")
    expect(readCommand(["--growth", "--write-docs"])).toHaveProperty("with.section", "growth")
    expect(readCommand(["--write-docs"])).toHaveProperty("with.section", "workloads")
    expect(readCommand(["--write-docs", "--from-results"])).toEqual({ does: "write-docs-from-results" })
    expect(readCommand(["--peers", "--only", "dbos", "--write-docs"])).toMatchObject({ does: "measure-peers", with: { docs: true } })
  })

  it.each([
    [["--only", "W99"], "no workload called W99"],
    [["--rounds", "0"], "--rounds is a whole number"],
    [["--rounds", "many"], "--rounds is a whole number"],
    [["--only", "W1", "--write-docs"], "leave --only out"],
    [["--peers", "--only", "dbos,W1", "--write-docs"], "name only engines"],
    [["--from-results"], "give both"],
    [["--http", "--growth"], "different runs"],
    [["--dialect", "--peers"], "different runs"],
    [["--fast"], "--fast"],
  ])("says what is wrong with %j", (args, complaint) => {
    expect(readCommand(args)).toEqual({ complaint: expect.stringContaining(complaint) })
  })
})
