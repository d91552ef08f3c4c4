// The checker of the house rule about SQL, on samples: what it must find, and what it must leave alone.

import { describe, expect, it } from "vitest"
import { parseSourceFile } from "../tools/house-rules/source-file.ts"
import { uncheckedSql } from "../tools/house-rules/sql-text.ts"

const found = (text: string, more: Readonly<Record<string, string>> = {}) =>
  uncheckedSql([
    parseSourceFile("src/stores/sample.ts", text),
    ...Object.entries(more).map(([path, source]) => parseSourceFile(`src/stores/${path}`, source)),
  ]).map((finding) => finding.split("  ")[1])

describe("unchecked SQL is found", () => {
  it.each([
    ["a parameter of an exported function", "export const count = (by: string) => `SELECT ${by} FROM t`", ["by"]],
    ["one of a closed type, which binds nobody", 'export const count = (by: "a" | "b") => `SELECT count(*) FROM t GROUP BY ${by}`', ["by"]],
    ["a parameter that one call passes on", "const of = (t: string) => `DELETE FROM ${t}`\nof('a')\nexport const all = (t: string) => of(t)", ["t"]],
    [
      "a parameter of a method that a port may have",
      "export class D { count(by: 'a') { return one(by) } }\nfunction one(by: 'a') { return `SELECT ${by} FROM t` }\nnew D().count('a')",
      ["by"],
    ],
    ["a property of an argument", "export const page = (o: { limit: number }) => `SELECT 1 LIMIT ${o.limit}`", ["o.limit"]],
    ["a property that is taken out of an argument", "export const page = ({ limit }: { limit: number }) => `SELECT 1 LIMIT ${limit}`", ["limit"]],
    ["what an unknown function returns", "import { f } from 'other'\nexport const q = `SELECT ${f()} FROM t`", ["f()"]],
    ["what a function of ours passes on", "const f = (x: string) => x\nexport const q = (x: string) => `SELECT ${f(x)} FROM t`", ["f(x)"]],
    ["a variable that may change", "let t = 'a'\nexport const set = (x: string) => { t = x }\nexport const q = () => `DROP TABLE ${t}`", ["t"]],
    ["a constant with something unchecked in it", "export const q = (x: string) => { const w = `a = '${x}'`\n return `SELECT 1 WHERE ${w}` }", ["w"]],
    ["values joined", "export const q = (ids: string[]) => `SELECT 1 WHERE id IN (${ids.join(', ')})`", ["ids.join(', ')"]],
    [
      "values mapped",
      "export const q = (ids: string[]) => `SELECT 1 WHERE id IN (${ids.map((id) => `'${id}'`).join()})`",
      ["ids.map((id) => `'${id}'`).join()"],
    ],
    ["texts that are added", "export const q = (t: string) => 'DELETE FROM ' + t + ' WHERE 1'", ["t"]],
    ["one side of a choice", "export const q = (t: string, is: boolean) => `VACUUM ${is ? 'a' : t}`", ["is ? 'a' : t"]],
    ["a savepoint", "export const q = (name: string) => `SAVEPOINT ${name}`", ["name"]],
    ["a schema outside of PostgreSQL's store", "export const q = (schema: string) => `SELECT 1 FROM ${schema}.t`", ["schema"]],
    [
      "a condition that is pushed",
      "class W { readonly #c: string[] = []\n add(c: string) { this.#c.push(c) }\n get all() { return `WHERE ${this.#c.join()}` } }\nexport const q = (w: W, x: string) => w.add(`a = ${x}`)",
      ["this.#c.join()"],
    ],
  ])("%s", (_, text, findings) => {
    expect(found(text)).toEqual(findings)
  })
})

describe("checked SQL is left alone", () => {
  it.each([
    ["constants", "const t = 'a'\nconst cs = ['x', 'y']\nexport const q = `SELECT ${cs.join(', ')} FROM ${t}`"],
    ["placeholders", "export const q = (ids: string[]) => `SELECT 1 WHERE id IN (${ids.map(() => '?').join(', ')})`"],
    ["numbers", "export const q = (n: unknown) => `PRAGMA a = ${Number(n)}; PRAGMA b = ${Math.min(1, 2)}`"],
    ["a choice of texts", "export const q = (is: boolean) => `SELECT 1 ORDER BY a ${is ? 'ASC' : 'DESC'}`"],
    ["words of a closed list", "import { columnOf } from './words.ts'\nexport const q = (by: 'a') => `SELECT ${columnOf(by)} FROM t`"],
    ["functions that only we call", "const of = (t: string) => `DELETE FROM ${t}`\nexport const all = ['a', 'b'].map((t) => of(t))"],
    ["other text", "export const message = (name: string) => `there is no ${name}; create it`"],
  ])("%s", (_, text) => {
    expect(found(text)).toEqual([])
  })

  it("constants of another file, also where a third one exports them", () => {
    const text = "import { columns } from './row.ts'\nexport const q = `SELECT ${columns} FROM t`"
    const more = { "row.ts": "export { columns } from './rows.ts'", "rows.ts": "export const columns = 'a, b'" }
    expect(found(text, more)).toEqual([])
    expect(found(text, { ...more, "rows.ts": "export const columns = process.argv[2]" })).toEqual(["columns"])
  })
})
