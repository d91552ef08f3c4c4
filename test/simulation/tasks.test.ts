// Activities in other processes under seeded trouble: lost, late and doubled results, processes that die or freeze, controls of their workflows.

import { afterEach, describe, expect, it, vi } from "vitest"
import { overriding } from "../../src/engine/method-overrides.ts"
import { TaskAttempts } from "../../src/engine/tasks/task-attempts.ts"
import type { StoreProvider } from "../../src/ports/store.ts"
import type { TaskStore } from "../../src/ports/task-store.ts"
import { Statistics } from "./statistics.ts"
import { simulateTasks, type TaskSimulationSpec } from "./task-simulation.ts"

const one = process.env["SEED"]
const first = one === undefined ? 1 : Number(one)
const seeds = one === undefined ? (process.env["LONG"] === "1" ? 3_000 : 150) : 1

afterEach(() => vi.restoreAllMocks())

/** Wraps the tasks of a store. */
function withTasks(change: (tasks: TaskStore) => Partial<TaskStore>): (inner: StoreProvider) => StoreProvider {
  return (inner) => ({
    name: inner.name,
    open: async (context) => {
      const store = await inner.open(context)
      const { tasks } = store
      if (!tasks) throw new Error("the store has no tasks")
      return overriding(store, { tasks: overriding(tasks, change(tasks)) })
    },
  })
}

/** A store that takes endings, and does not write them. */
const losesEndings = withTasks((tasks) => ({
  finish: async (endings) => {
    await tasks.keep(
      endings.map(({ id, token }) => ({ id, token })),
      10_000_000,
    )
    return endings.map(() => "finished" as const)
  },
}))

/** A store that gives out a task again without ending the attempt that has it. */
const givesTwice = withTasks((tasks) => {
  const given: Awaited<ReturnType<TaskStore["claim"]>>[number][] = []
  return {
    claim: async (request) => {
      const again = given.length > 3 ? given.splice(0, 1) : []
      const claimed = await tasks.claim(request)
      given.push(...claimed)
      return [...again, ...claimed]
    },
  }
})

/** A store on which the turns of instances end no tasks. */
const keepsTasks = (inner: StoreProvider): StoreProvider => ({
  name: inner.name,
  open: async (context) => {
    const store = await inner.open(context)
    const commit: typeof store.journal.commit = (turns) => store.journal.commit(turns.map((turn) => overriding(turn, { endsTasks: undefined })))
    return overriding(store, { journal: overriding(store.journal, { commit }) })
  },
})

/** An engine that takes the end of any attempt for the end of the present one, on a store that sends the endings of attempts that are over. */
function takesLateResults(): NonNullable<TaskSimulationSpec["plant"]> {
  vi.spyOn(TaskAttempts.prototype, "awaits").mockReturnValue(true)
  return (inner) => ({
    name: inner.name,
    open: async (context) => {
      const store = await inner.open(context)
      const { tasks } = store
      if (!tasks) throw new Error("the store has no tasks")
      const known = new Map<string, { readonly instance: string; readonly step: string }>()
      const claim: TaskStore["claim"] = async (request) => {
        const claimed = await tasks.claim(request)
        for (const task of claimed) known.set(task.id, task)
        return claimed
      }
      const finish: TaskStore["finish"] = async (endings) => {
        const outcomes = await tasks.finish(endings)
        for (const [at, { id, ending }] of endings.entries()) {
          const task = known.get(id)
          if (outcomes[at] !== "gone" || !task) continue
          await store.directory.deliver([{ instance: task.instance, kind: "activity", at: context.now(), topic: task.step, payload: ending, eventId: id }])
        }
        return outcomes.map(() => "finished" as const)
      }
      return overriding(store, { tasks: overriding(tasks, { claim, finish }) })
    },
  })
}

describe("activities in other processes", () => {
  it("every seed records the result of the last attempt, runs no attempt twice, and leaves no task", async () => {
    const statistics = new Statistics()
    const failures: string[] = []
    for (let seed = first; seed < first + seeds; seed++) {
      const report = await simulateTasks({ seed })
      statistics.add(report.statistics)
      if (report.violations.length > 0) failures.push(`SEED=${seed}: ${report.violations.join("\n  ")}`)
      if (failures.length > 2) break
    }
    console.log(`${seeds} seeds: ${statistics.print()}`)
    expect(failures.join("\n\n")).toBe("")
    const expected = [
      "results",
      "heartbeats passed on",
      "deaths",
      "freezes",
      "cancel",
      "terminate",
      "restart",
      "pause",
      "tasks.finish error after",
      "tasks.finish delay before",
    ]
    const missing = one === undefined ? expected.filter((kind) => statistics.get(kind) === 0) : []
    expect(missing, "what never happened over all seeds").toEqual([])
  }, 600_000)

  it.each([
    ["a store that loses the endings of tasks", () => losesEndings],
    ["a store that gives a task to two processes", () => givesTwice],
    ["a store on which tasks outlive their instances", () => keepsTasks],
    ["an engine that takes late results", takesLateResults],
  ])(
    "finds %s",
    async (_, plant) => {
      const planted = plant()
      let finding: string | undefined
      for (let seed = 1; seed <= 60 && finding === undefined; seed++) finding = (await simulateTasks({ seed, plant: planted })).violations[0]
      expect(finding).toBeDefined()
    },
    120_000,
  )
})
