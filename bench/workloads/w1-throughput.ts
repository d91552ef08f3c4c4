import { componentsOf } from "../engine-components.ts"
import { groupsOf } from "../floor.ts"
import { median } from "../statistics.ts"
import { countingStore, floorOn, openOn } from "../target.ts"
import { runThroughput, steps } from "../throughput.ts"
import type { Workload } from "../workload.ts"

export const instances = 1_000
/** Rows in a transaction of the grouped floor; the engine's own have about 350. */
const groupSize = 100
/** The floor is over in a moment; several take about as long as the engine, and so meet as much of what else the machine does. */
const floorRepeats = 5

export const throughput: Workload = {
  id: "W1",
  targets: ["sqlite", "postgres"],
  title: `${instances} instances of ${steps} sequential steps, started at once`,
  figures: [
    {
      key: "stepsPerSecond",
      label: `steps a second ÷ grouped floor, transactions of ${groupSize} rows`,
      unit: "steps/s",
      floor: { key: "floorStepsPerSecond", unit: "steps/s" },
      goal: { of: "ratio", bound: "at least", limit: 0.5 },
      goals: { postgres: { of: "ratio", bound: "at least", limit: 0.25 } },
    },
    {
      key: "stepsPerSecond",
      label: "the same ÷ floor in the engine's own, larger transactions",
      unit: "steps/s",
      floor: { key: "ownFloorStepsPerSecond", unit: "steps/s" },
    },
    {
      key: "stepsPerSecond",
      label: "the same, with the instance rows",
      unit: "steps/s",
      floor: { key: "wholeFloorStepsPerSecond", unit: "steps/s" },
    },
    { key: "cpuMs", label: "processor time ÷ the grouped floor's", unit: "ms", floor: { key: "floorCpuMs", unit: "ms" }, on: "sqlite" },
    { key: "cpuMs", label: "processor time of the process, without the server's", unit: "ms", on: "postgres" },
    { key: "commits", label: "transactions", unit: "" },
  ],
  async prepare(folders, { target }) {
    const captured = folders.create()
    const sizes: number[] = []
    const engine = await openOn(
      target,
      captured,
      countingStore(target.store(captured), (turns) => sizes.push(turns)),
    )
    await runThroughput(engine, instances)
    await engine.close()
    const floor = await floorOn(target, folders, captured)
    const groups = groupsOf(
      groupSize,
      sizes.reduce((sum, size) => sum + size, 0),
    )
    const floorTimes = async (transactions: readonly number[], withInstances: boolean) => {
      const times: number[] = []
      while (times.length < floorRepeats) times.push(await floor.grouped(transactions, { withInstances }))
      return times
    }
    const perSecond = (ms: number) => (instances * steps * 1000) / ms
    return async () => {
      const folder = folders.create()
      const measured = await openOn(target, folder)
      const usage = process.cpuUsage()
      const ms = await runThroughput(measured, instances)
      const cpuMs = cpuMsSince(usage)
      const { commits } = componentsOf(measured).worker.committer
      await measured.close()
      const floorUsage = process.cpuUsage()
      const floorMs = await floorTimes(groups, false)
      const floorCpuMs = cpuMsSince(floorUsage) / floorRepeats
      return {
        stepsPerSecond: perSecond(ms),
        cpuMs,
        commits,
        floorStepsPerSecond: perSecond(median(floorMs)),
        floorCpuMs,
        ownFloorStepsPerSecond: perSecond(median(await floorTimes(sizes, false))),
        wholeFloorStepsPerSecond: perSecond(median(await floorTimes(sizes, true))),
      }
    }
  },
}

/** Of all threads. Says more than the clock where others use the machine as well. */
function cpuMsSince(earlier: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(earlier)
  return (user + system) / 1000
}
