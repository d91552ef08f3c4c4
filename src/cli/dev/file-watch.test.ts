import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { FileWatch } from "./file-watch.ts"

let folder: string
let watch: FileWatch
let onChange: (path: string) => void

const write = (path: string) => writeFileSync(join(folder, path), String(Math.random()))

/** The path of the next announcement after `change`. */
async function announced(change: () => void): Promise<string> {
  const next = new Promise<string>((resolve) => (onChange = resolve))
  change()
  return relative(folder, await next)
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-file-watch-"))
  mkdirSync(join(folder, "src/steps"), { recursive: true })
  mkdirSync(join(folder, "node_modules"))
  write("src/steps/one.ts")
  watch = new FileWatch(folder, {
    onChange: (path) => onChange(path),
    onUnwatched: (_, error) => {
      throw error
    },
  })
})

afterEach(() => {
  watch.close()
  rmSync(folder, { recursive: true })
})

it("announces files of code that are edited, made, replaced and deleted, and no other file", async () => {
  expect(await announced(() => write("src/steps/one.ts"))).toBe("src/steps/one.ts")
  expect(await announced(() => write("src/two.ts"))).toBe("src/two.ts")
  const replace = () => {
    write("src/two.ts.tmp")
    renameSync(join(folder, "src/two.ts.tmp"), join(folder, "src/two.ts"))
  }
  expect(await announced(replace)).toBe("src/two.ts")
  expect(await announced(() => rmSync(join(folder, "src/two.ts")))).toBe("src/two.ts")
  const writeOthers = () => {
    write("node_modules/index.js")
    write("notes.md")
    write("src/last.ts")
  }
  expect(await announced(writeOthers)).toBe("src/last.ts")
})

it("watches a folder that is made or renamed, and announces that a folder is gone", async () => {
  expect(await announced(() => mkdirSync(join(folder, "src/more")))).toBe("src/more")
  expect(await announced(() => write("src/more/a.ts"))).toBe("src/more/a.ts")
  expect(await announced(() => renameSync(join(folder, "src/more"), join(folder, "src/other")))).toBe("src/other")
  expect(await announced(() => write("src/other/a.ts"))).toBe("src/other/a.ts")
  expect(await announced(() => rmSync(join(folder, "src/other"), { recursive: true }))).toBe("src/other")
  expect(await announced(() => mkdirSync(join(folder, "src/other")))).toBe("src/other")
  expect(await announced(() => write("src/other/b.ts"))).toBe("src/other/b.ts")
})

it("watches the new folder when a folder is deleted and made again at once", async () => {
  const replaceFolder = () => {
    rmSync(join(folder, "src/steps"), { recursive: true })
    mkdirSync(join(folder, "src/steps"))
    write("src/steps/two.ts")
  }
  await announced(replaceFolder)
  expect(await announced(() => write("src/steps/three.ts"))).toBe("src/steps/three.ts")
})

it("announces changes that come together once", async () => {
  const paths: string[] = []
  paths.push(await announced(() => ["a.ts", "b.ts", "c.ts"].forEach(write)))
  onChange = (path) => paths.push(path)
  paths.push(await announced(() => write("d.ts")))
  expect(paths).toEqual(["c.ts", "d.ts"])
})
