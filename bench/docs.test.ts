import { existsSync, readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { docsFromResults } from "./docs.ts"

const docs = new URL("../docs/", import.meta.url)
const expected = docsFromResults()

describe("the page about performance", () => {
  it.each([...expected])("%s is what the results and the template give", (path, text) => {
    const file = new URL(path, docs)
    expect(existsSync(file) ? readFileSync(file, "utf8") : "", "nobody edits it; write it again with `npm run bench -- --write-docs --from-results`").toBe(text)
  })

  it("has no chart that nobody draws any more", () => {
    const charts = readdirSync(new URL("charts/", docs)).map((name) => `charts/${name}`)
    expect(charts.filter((path) => !expected.has(path))).toEqual([])
  })
})
