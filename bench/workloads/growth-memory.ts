import { type Curve, growing, keyAt, sizeText } from "../growth.ts"
import { playScene } from "../memory-scene.ts"
import type { Sample } from "../workload.ts"

const sleeping = [0, 1_000, 10_000, 100_000]
const resident = [0, 100, 1_000, 5_000]

const sleepingCurves = [
  { key: "residentMb", label: "when all sleep", unit: "MB", goal: { of: "figure", bound: "at most", limit: 150 } },
  { key: "neededMb", label: "the same after V8 has released its reserve", unit: "MB" },
  { key: "restartedMb", label: "after a restart", unit: "MB", goal: { of: "figure", bound: "at most", limit: 150 } },
] as const satisfies readonly Curve[]

export const growthBySleeping = growing({
  id: "growth-sleeping",
  title: `resident set with ${sleeping.map(sizeText).join(", ")} sleeping instances`,
  processPerRound: true,
  growth: {
    axis: { label: "sleeping instances", values: sleeping, reference: 0 },
    curves: sleepingCurves,
    charts: [
      {
        file: "memory-sleeping",
        title: "Memory by sleeping instances",
        measure: "resident set, MB",
        curves: sleepingCurves.map(({ key }) => key),
        shows: "values",
      },
    ],
  },
  async prepare(folders, { target, progress }) {
    return async () => {
      const sample: Record<string, number> = {}
      for (const count of sleeping) {
        progress(`${sizeText(count)} sleep`)
        const folder = folders.create()
        Object.assign(sample, memoryAt(count, await playScene("asleep", target, folder, count)))
        const { residentMb = Number.NaN } = await playScene("restarted", target, folder, count)
        sample[keyAt("restartedMb", count)] = residentMb
      }
      return sample
    }
  },
})

const residentCurves = [
  { key: "residentMb", label: "resident set", unit: "MB" },
  { key: "neededMb", label: "the same after V8 has released its reserve", unit: "MB" },
] as const satisfies readonly Curve[]

export const growthByResident = growing({
  id: "growth-resident",
  title: `resident set with ${resident.map(sizeText).join(", ")} instances in memory, each with one recorded step and waiting for an event`,
  processPerRound: true,
  growth: {
    axis: { label: "instances in memory", values: resident, reference: 0 },
    curves: residentCurves,
    charts: [
      {
        file: "memory-resident",
        title: "Memory by instances in memory",
        measure: "resident set, MB",
        curves: residentCurves.map(({ key }) => key),
        shows: "values",
      },
    ],
  },
  async prepare(folders, { target, progress }) {
    return async () => {
      const sample: Record<string, number> = {}
      for (const count of resident) {
        progress(`${sizeText(count)} in memory`)
        Object.assign(sample, memoryAt(count, await playScene("resident", target, folders.create(), count)))
      }
      return sample
    }
  },
})

const memoryAt = (count: number, { residentMb = Number.NaN, neededMb = Number.NaN }: Sample) => ({
  [keyAt("residentMb", count)]: residentMb,
  [keyAt("neededMb", count)]: neededMb,
})
