import { describe, expect, it } from "vitest"
import { simulate, type SimulationSpec } from "./driver.ts"
import { simulationOf } from "./generator.ts"
import { answeredFirst, undoneAfterFailure, undoneByCompletion, undoneTwice } from "./planted-bugs.ts"
import { acknowledgedFirst, neverSent, oneTooMany, outOfOrder, sentFirst, withoutFence, withoutRevisions } from "./planted-faults.ts"

/** The first seed that finds a fault, with the finding; undefined if no seed does. */
async function firstFinding(seedsMax: number, fault: Partial<SimulationSpec>): Promise<{ readonly seed: number; readonly finding: string } | undefined> {
  for (let seed = 1; seed <= seedsMax; seed++) {
    const finding = await simulate({ ...simulationOf(seed), ...fault }).then(
      ({ violations }) => violations[0],
      (error: unknown) => String(error),
    )
    if (finding !== undefined) return { seed, finding }
  }
  return undefined
}

describe("a planted fault is found", () => {
  it.each([
    ["a store without its fence", { plant: withoutFence }, 100],
    ["schedules without their revisions", { plant: withoutRevisions }, 200],
    ["results that are read back in another order", { plant: outOfOrder }, 50],
    ["a store that acknowledges before it writes", { plant: acknowledgedFirst }, 50],
    ["a store that sends before it writes", { plant: sentFirst }, 100],
    ["a store that never sends", { plant: neverSent }, 50],
    ["a store that lets one too many run", { plant: oneTooMany }, 100],
    ["an engine that answers updates before they are durable", { bug: answeredFirst }, 50],
    ["an engine that undoes steps twice", { bug: undoneTwice }, 50],
    ["an engine that undoes started steps in the order of their completion", { bug: undoneByCompletion }, 100],
    ["an engine that goes on after a rollback has failed", { bug: undoneAfterFailure }, 200],
  ] as const)("%s", async (name, fault, seedsMax) => {
    const found = await firstFinding(seedsMax, fault)
    console.log(`${name}: seed ${found?.seed}, ${found?.finding.slice(0, 200)}`)
    expect(found, `not found within ${seedsMax} seeds`).toBeDefined()
    const { violations } = await simulate(simulationOf(found?.seed ?? 0))
    expect(violations, "without the fault").toEqual([])
  })
})
