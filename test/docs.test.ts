// The documentation is true: the examples of the journal format are what the codec writes, the guide on errors explains every error code, and no link is dead.
// `docs-snippets.test.ts` compiles and runs the code of the documentation.

import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { entryTypes } from "../src/core/journal/journal.ts"
import { decodeRow, encodeEntries } from "../src/core/journal/turn-codec.ts"
import { pages, readPage, root } from "./documentation-pages.ts"

describe("the journal format", () => {
  const page = readPage("docs/journal-format.md")
  const examples = page.split("\n").filter((line) => /^\[?\{"type":/.test(line))

  it("shows every type of entry", () => {
    expect(entryTypes.filter((type) => !examples.some((line) => line.startsWith(`{"type":"${type}"`)))).toEqual([])
    expect(entryTypes.filter((type) => !page.includes(`| \`${type}\` |`))).toEqual([])
  })

  it.each(examples)("shows what is written: %s", (line) => {
    const entries = line.startsWith("[") ? line : `[${line}]`
    const recorded = decodeRow({ position: 1, run: 1, at: 0, entries })
    expect(encodeEntries(recorded.map(({ entry }) => entry)).text).toBe(entries)
  })
})

it("every error code is explained", () => {
  const union = /export type ErrorCode =\n((?: +\| "[A-Z_]+"\n)+)/.exec(readPage("src/core/errors.ts"))?.[1] ?? ""
  const codes = [...union.matchAll(/"([A-Z_]+)"/g)].map((match) => match[1] ?? "")
  const explained = [...readPage("docs/guides/errors.md").matchAll(/^\| `([A-Z_]+)` \|/gm)].map((match) => match[1] ?? "")
  expect(codes.length).toBeGreaterThan(30)
  expect(explained.toSorted()).toEqual(codes.toSorted())
})

it("links and files that the documentation names exist", () => {
  const dead = pages.flatMap((page) => {
    const text = readPage(page)
    const links = [...text.matchAll(/\]\(([^)#\s]+)(#[^)]*)?\)/g)].map((match) => join(dirname(page), match[1] ?? "")).filter((path) => !path.includes(":"))
    const named = [...text.matchAll(/`((?:src|test|tools|examples|docs|\.github)\/[\w./-]+)`/g)]
      .map((match) => match[1] ?? "")
      .filter((path) => !path.startsWith("test/journals/<"))
    return [...links, ...named].filter((path) => !existsSync(join(root, path))).map((path) => `${page}: ${path}`)
  })
  expect(dead).toEqual([])
})
