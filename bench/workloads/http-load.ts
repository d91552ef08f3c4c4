import { sequence } from "../bench-workflows.ts"
import { generateLoad } from "../http-load.ts"
import { quantile } from "../statistics.ts"
import { openOn } from "../target.ts"
import type { Workload } from "../workload.ts"

const perSecond = 1_000
const seconds = 30
/** What a round asks for is known before; that it was sent and answered is checked. */
const expected = 0.99 * perSecond * seconds

export const httpLoad: Workload = {
  id: "HTTP",
  title: `${perSecond} starts of three steps and ${perSecond} reads of an instance a second, over HTTP for ${seconds} s, from another process that does not wait for answers`,
  figures: [
    { key: "startP50Ms", label: "start, p50", unit: "ms" },
    { key: "startP99Ms", label: "start, p99", unit: "ms", goal: { of: "figure", bound: "at most", limit: 50 } },
    { key: "readP50Ms", label: "read, p50", unit: "ms" },
    { key: "readP99Ms", label: "read, p99", unit: "ms", goal: { of: "figure", bound: "at most", limit: 50 } },
    { key: "completed", label: "instances completed when the last answer was there", unit: "" },
    { key: "processorShare", label: "of one core, used by the server", unit: "%" },
  ],
  async prepare(folders, { target, progress }) {
    return async () => {
      await using engine = await openOn(target, folders.create())
      // Loaded here: the processes of other workloads, whose memory is measured, have no use for a server.
      const { serve } = await import("perdure/http")
      await using server = await serve(engine, { port: 0 })
      const { id: first } = await engine.start(sequence, { input: 1 })
      const before = process.cpuUsage()
      const startedAt = performance.now()
      progress(`${seconds} s of requests`)
      const { starts, reads, faults } = await generateLoad({ url: server.url, first, startsPerSecond: perSecond, readsPerSecond: perSecond, seconds })
      const { user, system } = process.cpuUsage(before)
      const processorShare = (user + system) / 10 / (performance.now() - startedAt)
      if (faults.length > 0) throw new Error(`the server did not answer as it should: ${faults.join("; ")}`)
      if (starts.length < expected || reads.length < expected) throw new Error(`only ${starts.length} starts and ${reads.length} reads were sent`)
      const { completed = 0 } = await engine.count({}, "status")
      return {
        startP50Ms: quantile(starts, 0.5),
        startP99Ms: quantile(starts, 0.99),
        readP50Ms: quantile(reads, 0.5),
        readP99Ms: quantile(reads, 0.99),
        completed,
        processorShare,
      }
    }
  },
}
