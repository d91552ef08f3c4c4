import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { findDevNote, removeDevNote, writeDevNote } from "./dev-note.ts"

let project: string
const note = { url: "http://127.0.0.1:8787", db: "app.db", pid: process.pid }

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "perdure-dev-"))
})

afterEach(() => rmSync(project, { recursive: true }))

it("a server that runs is found from any folder of its project, and not once its note is removed", () => {
  writeDevNote(project, note)
  const below = join(project, "src/deep")
  mkdirSync(below, { recursive: true })
  expect(findDevNote(below)).toMatchObject({ ...note, project })
  removeDevNote(project, process.pid + 1)
  expect(findDevNote(project)).toBeDefined()
  removeDevNote(project, process.pid)
  expect([findDevNote(below), existsSync(join(project, ".perdure"))]).toEqual([undefined, false])
})

it("what else is in the folder of the note stays there", () => {
  writeDevNote(project, note)
  writeFileSync(join(project, ".perdure/mine.txt"), "mine")
  removeDevNote(project, process.pid)
  expect(readdirSync(join(project, ".perdure"))).toContain("mine.txt")
  expect(findDevNote(project)).toBeUndefined()
})
