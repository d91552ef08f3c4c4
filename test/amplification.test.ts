// The memory that a server needs for an answer stays within bounds. Measured in a process of its own, on the real Node host and SQLite.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const script = fileURLToPath(new URL("amplified-process.ts", import.meta.url))
const megabyte = 1_000_000

interface Report {
  readonly started: number
  readonly answers: readonly { readonly status: number; readonly length: number }[]
  readonly grownBytes: number
}

it("a small payload that would be 400 MB of JSON costs a server little, however often it is asked for", async () => {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script], { stdio: ["ignore", "pipe", "inherit"] })
  const [out] = await Promise.all([text(child.stdout), once(child, "close")])
  const { started, answers, grownBytes } = JSON.parse(out) as Report
  expect(started).toBe(201)
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => [200, 200, 406]).flat())
  expect(Math.max(...answers.map(({ length }) => length))).toBeLessThan(10_000)
  // One answer of 400 MB would take three times as much.
  expect(grownBytes).toBeLessThan(400 * megabyte)
}, 60_000)
