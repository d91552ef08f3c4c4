import { expect, it } from "vitest"
import { bulkRun } from "./bulk-run.ts"
import { PerdureError } from "../core/errors.ts"

const ids = Array.from({ length: 50 }, (_, index) => `i${index}`)
const ignore = { signal: new AbortController().signal, onProgress: () => undefined }

it("never more than so many at a time", async () => {
  let running = 0
  let most = 0
  const report = await bulkRun(
    ids,
    async () => {
      most = Math.max(most, ++running)
      await Promise.resolve()
      running--
      return undefined
    },
    { ...ignore, concurrency: 4 },
  )
  expect(most).toBe(4)
  expect(report).toEqual({ matched: 50, done: 50, skipped: [], failed: [] })
})

it("one that fails does not hinder the others", async () => {
  const progress: [number, number][] = []
  const report = await bulkRun(
    ["a", "b", "c", "d"],
    async (id) => {
      if (id === "b") throw new PerdureError("NOT_ENDED", "it runs")
      if (id === "c") throw new Error("boom")
      return id === "d" ? "it is over" : undefined
    },
    { ...ignore, concurrency: 1, onProgress: (finished, failed) => progress.push([finished, failed]) },
  )
  expect(report).toEqual({
    matched: 4,
    done: 1,
    skipped: [{ id: "d", reason: "it is over" }],
    failed: [
      { id: "b", code: "NOT_ENDED", message: "it runs" },
      { id: "c", code: "Error", message: "boom" },
    ],
  })
  expect(progress).toEqual([
    [1, 0],
    [2, 1],
    [3, 2],
    [4, 2],
  ])
})

it("begins nothing more once it is interrupted", async () => {
  const interrupt = new AbortController()
  const done: string[] = []
  await bulkRun(
    ids,
    async (id) => {
      done.push(id)
      if (done.length === 5) interrupt.abort()
      return undefined
    },
    { ...ignore, concurrency: 2, signal: interrupt.signal },
  )
  expect(done.length).toBeLessThanOrEqual(6)
})
