// The modules from which the CLI takes workflows, and its messages for modules that it cannot use. Node loads the modules in a process.

import { spawnSync } from "node:child_process"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ProjectBed } from "./project-bed.ts"

const beds: ProjectBed[] = []
const bed = (files: Readonly<Record<string, string>> = {}) => {
  const one = new ProjectBed()
  beds.push(one)
  for (const [name, code] of Object.entries(files)) one.module(name, code)
  return one
}
afterAll(async () => {
  for (const one of beds) await one.close()
})

const greet = `export const greet = workflow("greet", async (ctx, input: { name: string }) => \`Hello, \${input.name}\`)`

/** Loads the modules of all projects in one process. Returns the content of each module, or the error message. */
function loadAll(projects: readonly { readonly cwd: string; readonly named?: string | undefined }[]): readonly string[] {
  const source = (name: string) => JSON.stringify(new URL(`../../src/cli/user-code/${name}`, import.meta.url).href)
  const script = `
    import { findEntry, shownPath } from ${source("workflow-entry.ts")}
    import { loadWorkflows } from ${source("workflow-module.ts")}
    const lines = []
    for (const { cwd, named } of ${JSON.stringify(projects)}) {
      try {
        const entry = findEntry({ cwd }, named)
        const { workflows, options } = await loadWorkflows(entry, cwd)
        lines.push(shownPath(entry, cwd) + " gives " + workflows.map(({ name, version }) => name + "@" + version).join(", ") + (Object.keys(options).length === 0 ? "" : " with " + Object.keys(options).join(", ")))
      } catch (error) {
        lines.push(error.code + ": " + error.message)
      }
    }
    console.log(JSON.stringify(lines))`
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" })
  expect(stderr).toBe("")
  return JSON.parse(stdout) as string[]
}

const cases = [
  ["workflows.ts", { "workflows.ts": greet }, undefined, "./workflows.ts gives greet@1"],
  [
    "options of the engine beside the workflows",
    { "perdure.config.ts": `${greet}\nexport default { workflows: [greet], maxConcurrentSteps: 2, store: 1 }` },
    undefined,
    "./perdure.config.ts gives greet@1 with maxConcurrentSteps",
  ],
  ["src/workflows.ts", { "src/workflows.ts": greet }, undefined, "./src/workflows.ts gives greet@1"],
  ["perdure.config.ts before others", { "perdure.config.ts": greet, "workflows.ts": "" }, undefined, "./perdure.config.ts gives greet@1"],
  ["src/workflows/index.ts", { "src/workflows/index.ts": greet }, undefined, "./src/workflows/index.ts gives greet@1"],
  ["a module that is named", { "flows/all.mts": greet }, "flows/all.mts", "./flows/all.mts gives greet@1"],
  ["a module that is named without its extension", { "flows/all.mts": greet }, "./flows/all", "./flows/all.mts gives greet@1"],
  ["a folder that is named", { "flows/index.ts": greet }, "flows", "./flows/index.ts gives greet@1"],
  [
    "names, arrays, the default, several versions, and the same one twice",
    {
      "workflows.ts": `${greet}\nexport const again = greet\nexport const list = [workflow("a", async () => 1), workflow("a", { version: "2" }, async () => 1)]\nexport default { workflows: [greet, workflow("b", async () => 1)] }`,
    },
    undefined,
    /^.\/workflows.ts gives (?=.*greet@1)(?=.*a@1)(?=.*a@2)(?=.*b@1)[^,]+, [^,]+, [^,]+, [^,]+$/,
  ],
  [
    "no module at all",
    {},
    undefined,
    /^NO_ENTRY: there is no module with workflows here; name it, or make one of perdure.config.ts, workflows.ts, .*perdure init/,
  ],
  ["one that is not there", {}, "flows.ts", /^NO_ENTRY: there is no module "flows.ts"/],
  [
    "one without workflows",
    { "workflows.ts": "export const a = 1, b = []" },
    undefined,
    /^NO_WORKFLOWS: .\/workflows.ts exports no workflow \(it exports "a", "b"\)/,
  ],
  [
    "two definitions of one version",
    { "workflows.ts": `${greet}\nexport const other = [workflow("greet", async () => 1)]` },
    undefined,
    /^DUPLICATE_WORKFLOW: .\/workflows.ts has two definitions of workflow "greet", version "1": "greet" and "other\[0\]"; give one of them another version/,
  ],
  [
    "a syntax error in TypeScript",
    { "workflows.ts": `${greet}\nconst x: = 1` },
    undefined,
    /^NOT_LOADED: .\/workflows.ts could not be loaded: .\/workflows.ts:3: SyntaxError: /,
  ],
  ["a syntax error in JavaScript", { "workflows.mjs": "export const a = 1\nconst b = = 2" }, undefined, /could not be loaded: .\/workflows.mjs:3: SyntaxError/],
  [
    "a syntax error in what it imports",
    { "workflows.ts": `import "./steps.ts"\n${greet}`, "steps.ts": "export const a = (1" },
    undefined,
    /^NOT_LOADED: .\/workflows.ts could not be loaded: .\/steps.ts:2: SyntaxError/,
  ],
  [
    "TypeScript that is more than types",
    { "workflows.ts": `${greet}\nenum Colour { red }` },
    undefined,
    /.\/workflows.ts:3: SyntaxError: TypeScript enum is not supported/,
  ],
  [
    "a package that is not installed",
    { "workflows.ts": `import "no-such-package"\n${greet}` },
    undefined,
    /Cannot find package 'no-such-package' imported from .*workflows.ts/,
  ],
  [
    "code that throws",
    { "workflows.ts": `${greet}\nthrow new Error("no configuration")` },
    undefined,
    /could not be loaded: .\/workflows.ts:3: Error: no configuration/,
  ],
] as const

describe("what a project exports, or what is wrong with it", () => {
  let found: readonly string[]
  beforeAll(() => {
    found = loadAll(cases.map(([, files, named]) => ({ cwd: bed(files).folder, named })))
  })

  it.each(cases.map(([name, , , expected], index) => [name, expected, index] as const))("%s", (_, expected, index) => {
    expect(found[index]).toMatch(expected)
  })
})

describe("the command", () => {
  it("exits with 2 for a module that it cannot use", async () => {
    const { code, stdout, stderr } = await bed({ "workflows.ts": "const a = 1" }).run(["check"])
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("error NO_WORKFLOWS: ./workflows.ts exports no workflow (it exports nothing)") as string,
    })
  })

  it("is run again by a Node that needs to be told to strip types", async () => {
    const project = bed({ "workflows.ts": greet })
    await (await project.engine([], "client")).close()
    const { code, stdout, stderr } = await project.run(
      ["check"],
      ["--no-experimental-strip-types", "--disable-warning=ExperimentalWarning", "--import", plainLoader],
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toContain("0 instances fit")
  })
})

/** The sources of the CLI are TypeScript too. This loader strips their types, as the build does. */
const plainLoader = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks, stripTypeScriptTypes } from "node:module"
  import { readFileSync } from "node:fs"
  import { fileURLToPath } from "node:url"
  registerHooks({
    load(url, context, next) {
      if (process.features.typescript || !url.includes("/src/") || !url.endsWith(".ts")) return next(url, context)
      return { format: "module", source: stripTypeScriptTypes(readFileSync(fileURLToPath(url), "utf8")), shortCircuit: true }
    },
  })`)}`
