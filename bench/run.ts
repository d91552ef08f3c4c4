// Measures workloads one after another, and prints a line for each operation under way and for each round.

import { describeMachine } from "./machine.ts"
import { postgresFor } from "./postgres-server.ts"
import { measure } from "./measurement.ts"
import { machineLines, sampleText } from "./report.ts"
import type { Result, SectionRun } from "./section.ts"
import { type TargetId, targetCalled } from "./target.ts"
import type { Workload } from "./workload.ts"

export interface RunOptions {
  readonly rounds: number
  readonly folder?: string
  /** Measures only on these targets; default: on all targets of a workload. */
  readonly targets?: readonly TargetId[]
}

/** A line is printed at least this often, so that a waiting user sees progress. */
const signOfLifeMs = 15_000

export async function run(workloads: readonly Workload[], options: RunOptions): Promise<SectionRun> {
  const machine = describeMachine(options.folder)
  for (const line of machineLines(machine)) console.log(line)
  const pairs = workloads.flatMap((workload) => targetsOf(workload, options.targets).map((target) => ({ workload, target })))
  await using postgres = pairs.some(({ target }) => targetCalled(target).needs === "postgres") ? await postgresFor(options.folder) : undefined
  const results: Result[] = []
  for (const { workload, target } of pairs) results.push(await resultOf(workload, target, options))
  return { machine, rounds: options.rounds, ...(postgres && { postgres: postgres.description }), results }
}

const targetsOf = ({ targets = ["sqlite"] }: Workload, only: readonly TargetId[] | undefined) => targets.filter((target) => only?.includes(target) ?? true)

async function resultOf(workload: Workload, target: TargetId, options: RunOptions): Promise<Result> {
  const startedAt = performance.now()
  const say = (text: string) => console.log(`  ${((performance.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${text}`)
  let underWay = ""
  const signOfLife = setInterval(() => say(`… ${underWay}`), signOfLifeMs)
  const onProgress = (text: string) => {
    underWay = text
    say(text)
    signOfLife.refresh()
  }
  const onSample = (sample: Parameters<typeof sampleText>[0]) => say(`  ${sampleText(sample)}`)
  console.log(`\n${workload.id} on ${targetCalled(target).title}: ${workload.title}`)
  try {
    return {
      workload: workload.id,
      target,
      samples: await measure(workload, { rounds: options.rounds, ...(options.folder && { folder: options.folder }), target, onSample, onProgress }),
    }
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error)
    say(`FAILED: ${failure}`)
    return { workload: workload.id, target, failure }
  } finally {
    clearInterval(signOfLife)
  }
}
