// The dialect for Cloudflare Workflows: W1 and W3 as a program for Cloudflare Workflows, beside the native API, and beside Cloudflare's own local engine.

import { mean } from "../statistics.ts"
import type { Folders, Workload } from "../workload.ts"
import type { SequenceEngine } from "./sequence-engines.ts"

interface Size {
  readonly instances: number
  readonly steps: number
}

const many: Size = { instances: 1_000, steps: 10 }
const long: Size = { instances: 1, steps: 1_000 }
/** Cloudflare's local engine is slow, so it gets fewer instances, and the dialect gets as few beside it. */
const few: Size = { instances: 100, steps: 10 }

/** In this order drifts of the machine, and code that becomes faster with time, change both sides alike. */
const turns = ["native", "dialect", "dialect", "native"] as const

/** Loaded on demand, because the memory of processes without the dialect is measured as well. */
const loadEngines = () => import("./sequence-engines.ts")

async function timeInNewFile(open: (folder: string) => Promise<SequenceEngine>, folders: Folders, { instances, steps }: Size): Promise<number> {
  const { timeOf } = await loadEngines()
  await using engine = await open(folders.create())
  return await timeOf(engine, instances, steps)
}

function besideNative(id: string, title: string, label: string, size: Size): Workload {
  const operations = size.instances === 1 ? size.steps : size.instances
  return {
    id,
    title,
    figures: [{ key: "dialectMs", label, unit: "ms", floor: { key: "nativeMs", unit: "ms" }, goal: { of: "ratio", bound: "at most", limit: 1.3 } }],
    async prepare(folders) {
      const { openNative, openDialect } = await loadEngines()
      const openers = { native: openNative, dialect: openDialect }
      return async () => {
        const times = { native: [] as number[], dialect: [] as number[] }
        for (const turn of turns) times[turn].push((await timeInNewFile(openers[turn], folders, size)) / operations)
        return { dialectMs: mean(times.dialect), nativeMs: mean(times.native) }
      }
    },
  }
}

const besideCloudflare: Workload = {
  id: "dialect-cloudflare",
  title: `the class of dialect-W1, with ${few.instances} instances, and that of dialect-W3, on Cloudflare's local engine; in place of the floor: the dialect on SQLite`,
  figures: [
    { key: "manyMs", label: "one of many instances, on Cloudflare's local engine", unit: "ms", floor: { key: "dialectManyMs", unit: "ms" } },
    { key: "longMs", label: "one step, on Cloudflare's local engine", unit: "ms", floor: { key: "dialectLongMs", unit: "ms" } },
  ],
  async prepare(folders) {
    const [{ CloudflareBench }, { openDialect }] = await Promise.all([import("./cloudflare-bench.ts"), loadEngines()])
    const bench = await CloudflareBench.start(folders.create())
    process.once("disconnect", () => void bench.close())
    const onCloudflare = async ({ instances, steps }: Size) => bench.time(instances, steps)
    const inDialect = (size: Size) => timeInNewFile(openDialect, folders, size)
    return async () => ({
      dialectManyMs: (await inDialect(few)) / few.instances,
      manyMs: (await onCloudflare(few)) / few.instances,
      dialectLongMs: (await inDialect(long)) / long.steps,
      longMs: (await onCloudflare(long)) / long.steps,
    })
  },
}

export const dialectWorkloads: readonly Workload[] = [
  besideNative(
    "dialect-W1",
    `W1 as a class for Cloudflare Workflows: ${many.instances} instances of ${many.steps} sequential steps, started at once; in place of the floor: the native API`,
    "one of many instances, through the dialect ÷ natively",
    many,
  ),
  besideNative(
    "dialect-W3",
    `W3 as a class for Cloudflare Workflows: one instance of ${long.steps} sequential steps; in place of the floor: the native API`,
    "one step, through the dialect ÷ natively",
    long,
  ),
  besideCloudflare,
]
