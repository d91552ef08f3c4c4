// Every public name has JSDoc, because users read it in their editor first.

import { describe, expect, it } from "vitest"
import { Documentation } from "../tools/house-rules/documentation.ts"
import { parseSourceFile, readSourceFiles } from "../tools/house-rules/source-file.ts"

describe("the public surface", () => {
  const files = readSourceFiles("src").filter(({ isTest }) => !isTest)
  const entries = files.filter(({ path }) => path.split("/").length === 2)
  const documentation = new Documentation(files)
  const comments = documentation.comments(entries)

  it("has JSDoc for every export, and for every member of one", () => {
    const missing = documentation.missing(entries)
    expect(missing, `these have no JSDoc:\n  ${missing.join("\n  ")}\n`).toEqual([])
  })

  it("is looked at as a whole", () => {
    const some = ["Perdure.open", "Client.start", "Handle.result", "Engine.tick", "Asks.sleep", "Context.now", "StartOptions.id", "PerdureError.code"]
    const more = ["TestEngine.skip", "RetryFields.jitter", "BatchResult.error", "ScheduleOptions.overlap", "RemoteClient.close", "SendOrStartOptions.event"]
    expect([...comments.keys()]).toEqual(expect.arrayContaining([...some, ...more]))
    expect(comments.size).toBeGreaterThan(600)
  })

  it.each([
    ...["Perdure.open", "workflow", "BaseWorkflow", "PerdureError", "NonRetryableError", "sqlite", "postgres", "connect", "createTestEngine"],
    ...["Asks.do", "Asks.transaction", "Asks.sleep", "Asks.waitForEvent", "Context.startChild", "Context.runChild", "Context.continueAsNew"],
    ...["Context.onEvent", "Context.setQueryHandler", "Context.setUpdateHandler", "Client.start", "Client.startBatch", "Client.sendOrStart", "Client.list"],
    ...["Handle.result", "Handle.sendEvent", "createHttpApp", "serve", "createWorkflowRunner", "workflowClient"],
  ])("shows an example of %s", (name) => {
    expect(comments.get(name)).toContain("@example\n")
  })
})

describe("a name without JSDoc is found", () => {
  const missing = (text: string, others: Readonly<Record<string, string>> = {}) => {
    const [entry, ...rest] = [parseSourceFile("src/entry.ts", text), ...Object.entries(others).map(([path, other]) => parseSourceFile(path, other))]
    return new Documentation([entry, ...rest]).missing([entry]).map((line) => line.replace(/^\S+ /, ""))
  }

  it.each([
    ["an export", "export interface A {}", ["A"]],
    ["with an empty comment", "/** */\nexport interface A {}", ["A"]],
    ["with a comment of another kind", "/* Says a. */\nexport interface A {}", ["A"]],
    ["with a comment that belongs to what is before it", "/** Says b. */\nconst b = 1\nexport interface A {}", ["A"]],
    ["a member", "/** Says a. */\nexport interface A {\n  /** Says b. */\n  b: 1\n  c: 2\n}", ["A.c"]],
    ["a member of a class", "/** Says a. */\nexport class A {\n  #p = 1\n  private q = 2\n  constructor() {}\n  b(): void {}\n}", ["A.b"]],
    ["a member of a constant", "/** Says a. */\nexport const a = {\n  b() {},\n}", ["a.b"]],
    ["a member of an intersection", "/** Says a. */\nexport type A = B & { c: 1 }\ninterface B {\n  b: 1\n}", ["B.b", "A.c"]],
    ["a member of a union", "/** Says a. */\nexport type A = { b: 1 } | { c: 1 }", ["A.b", "A.c"]],
    ["a member that is inherited", "/** Says a. */\nexport interface A extends B {}\ninterface B {\n  b: 1\n}", ["B.b"]],
    ["a member below an Omit", '/** Says a. */\nexport interface A extends Omit<B, "c"> {}\ninterface B {\n  b: 1\n  c: 2\n}', ["B.b"]],
    ["a member below a Pick", '/** Says a. */\nexport type A = Pick<B, "c">\ninterface B {\n  b: 1\n  c: 2\n}', ["B.c"]],
    ["a static member of a class", "/** Says a. */\nexport class A {\n  static b = 1\n}", ["A.b"]],
    ["of overloads, the first", "/** Says a. */\nexport interface A {\n  b(x: 1): void\n  /** Says b. */\n  b(x: 2): void\n}", ["A.b"]],
  ])("%s", (_, text, expected) => {
    expect(missing(text)).toEqual(expected)
  })

  it("where another file declares it, under another name", () => {
    const text = 'import { type A } from "./other.ts"\nexport { type B as A } from "./other.ts"\n/** Says d. */\nexport const d: A = 1'
    expect(missing(text, { "src/other.ts": "/** Says a. */\nexport type A = 1\nexport interface B {\n  c: 1\n}" })).toEqual(["A", "A.c"])
  })

  it("where its declaration is not found", () => {
    expect(missing('export { a } from "./gone.ts"')).toEqual(["a, whose declaration was not found"])
  })

  it.each([
    ["a member that another type describes", "/** Says a. */\nexport class A implements B {\n  b = 1\n}\ninterface B {\n  /** Says b. */\n  b: 1\n}"],
    ["a static member of a class that is only a type", "/** Says a. */\nexport interface A extends B {}\nclass B {\n  static b = 1\n}"],
    ["a member that a part of a union describes", "/** Says a. */\nexport type A =\n  | {\n      /** Says b. */\n      b: 1\n    }\n  | { b: 2 }"],
    ["a member that may not be there", "/** Says a. */\nexport type A = { b?: never }"],
    ["a comment before a line for the linter", "/** Says a. */\n// lint: off\nexport type A = 1"],
  ])("but not %s", (_, text) => {
    expect(missing(text)).toEqual([])
  })
})
