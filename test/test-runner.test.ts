// The runner behind `npm test`: which paths it accepts, in which order suites run, and whose output is shown.

import { describe, expect, it } from "vitest"
import { GroupedOutput } from "../tools/test/grouped-output.ts"
import { runOnSchedule } from "../tools/test/suite-schedule.ts"
import type { Suite } from "../tools/test/suites.ts"
import { suitesOfPaths } from "../tools/test/test-files.ts"
import { root } from "./documentation-pages.ts"

describe("the paths of test files", () => {
  const commands = (...paths: readonly string[]) => suitesOfPaths(paths, root).flatMap((suite) => suite.commands)

  it("lead to vitest, wherever the user is", () => {
    expect(commands("src/core/time/duration.test.ts")).toEqual([`vitest run ${root}src/core/time/duration.test.ts`])
    expect(suitesOfPaths(["duration.test.ts"], `${root}src/core/time`)).toEqual(suitesOfPaths(["src/core/time/duration.test.ts"], root))
  })

  it("of tests in workerd lead to the workspace of these tests", () => {
    expect(commands("test/workerd/keys.test.ts")).toEqual(["npm test --silent --workspace @perdure/workerd-tests -- keys.test.ts"])
  })

  it("of a folder lead to all test files below it", () => {
    expect(commands("src/core/time").join().split(" ")).toContain(`${root}src/core/time/duration.test.ts`)
  })

  it("of tests in real time run one file at a time, and after a build, as tests of the package do", () => {
    expect(commands("test/crash/kill.test.ts")).toEqual(["npm run --silent build", `vitest run --no-file-parallelism ${root}test/crash/kill.test.ts`])
    expect(commands("test/package.test.ts")[0]).toBe("npm run --silent build")
  })

  it.each([
    ["src/core/time/duration.ts", "its tests are in src/core/time/duration.test.ts"],
    ["test/native-types.test-d.ts", "`npm run typecheck` checks it"],
    ["docs/guides", "no test file is in the folder docs/guides"],
    ["untis", "untis is neither a suite nor a file"],
  ])("that are no test are explained: %s", (path, words) => {
    expect(() => suitesOfPaths([path], root)).toThrow(words)
  })
})

describe("suites side by side", () => {
  async function orderOf(suites: readonly Partial<Suite>[], atOnceMax: number): Promise<string> {
    const events: string[] = []
    const named = suites.map((suite) => ({ name: "", commands: [], ...suite }))
    await runOnSchedule(named, atOnceMax, async ({ name }) => {
      events.push(`+${name}`)
      for (let turn = name.length; turn > 0; turn--) await Promise.resolve()
      events.push(`-${name}`)
    })
    return events.join(" ")
  }

  it("start in the order of the list, as many as may", async () => {
    expect(await orderOf([{ name: "longest" }, { name: "b" }, { name: "c" }], 2)).toBe("+longest +b -b +c -c -longest")
    expect(await orderOf([{ name: "longest" }, { name: "b" }], 1)).toBe("+longest -longest +b -b")
  })

  it("wait for what they need, for their lane, and alone for everything", async () => {
    expect(await orderOf([{ name: "long", lane: "x" }, { name: "b", lane: "x" }, { name: "c" }], 2)).toBe("+long +c -c -long +b -b")
    expect(await orderOf([{ name: "build" }, { name: "b", after: ["build", "absent"] }, { name: "c" }], 2)).toBe("+build +c -c -build +b -b")
    expect(await orderOf([{ name: "a", alone: true }, { name: "b" }, { name: "c" }], 2)).toBe("+b +c -b -c +a -a")
  })
})

it("shows the output of the suite that began first at once, and of the next when that has ended", () => {
  let shown = ""
  const output = new GroupedOutput((text) => (shown += text))
  const [first, second, third] = [output.open(), output.open(), output.open()]
  second.write("2 ")
  first.write("1 ")
  second.end()
  expect(shown).toBe("1 ")
  third.write("3 ")
  first.end()
  expect(shown).toBe("1 2 3 ")
  expect(second.lastLines(1)).toEqual(["2"])
})
