import { expect, it } from "vitest"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import { MacrotaskQueue, type Runnable } from "./macrotask-queue.ts"

it("a run reaches all queued instances and what follows the run, also if one of them throws", async () => {
  const lines: string[] = []
  const note = (message: string, data?: Record<string, unknown>) => void lines.push(`${message}: ${String(data?.["error"])}`)
  const host = new SimulatedHost({ log: { debug: note, info: note, warn: note, error: note } })
  const seen: string[] = []
  const macrotaskQueue = new MacrotaskQueue(host, () => seen.push("after"))
  const member = (pump: () => void): Runnable => ({ isQueued: false, pump })
  macrotaskQueue.enqueue(
    member(() => {
      throw new Error("a flaw")
    }),
  )
  macrotaskQueue.enqueue(member(() => seen.push("other")))
  await new Promise<void>((resolve) => macrotask(resolve))
  expect(seen).toEqual(["other", "after"])
  expect(macrotaskQueue.idle).toBe(true)
  expect(lines).toEqual(["an instance failed to continue; the others are not affected: Error: a flaw"])
})

it("a long queue runs a few hundred at a time, in its order", async () => {
  const beats: number[][] = [[]]
  const macrotaskQueue = new MacrotaskQueue(new SimulatedHost(), () => beats.push([]))
  const numbers = Array.from({ length: 1_200 }, (_, index) => index)
  for (const number of numbers) macrotaskQueue.enqueue({ isQueued: false, pump: () => beats.at(-1)?.push(number) })
  while (!macrotaskQueue.idle) await new Promise<void>((resolve) => macrotask(resolve))
  expect(beats.map(({ length }) => length)).toEqual([512, 512, 176, 0])
  expect(beats.flat()).toEqual(numbers)
})
