// Measures the chosen engines with the chosen workloads, workload by workload, so that what is compared was measured at about the same time.

import { describeMachine } from "../machine.ts"
import type { Spread } from "../measurement.ts"
import { sampleText } from "../report.ts"
import { median } from "../statistics.ts"
import type { Sample } from "../workload.ts"
import type { PeerDescription } from "./adapter.ts"
import type { Choice } from "./choice.ts"
import { peerFigures } from "./figures.ts"
import { install, versionOf } from "./installation.ts"
import { measureInProcess } from "./measured-process.ts"
import type { EngineOutcome, PeersOutcome, WorkloadOutcome } from "./outcome.ts"
import { ours } from "./peer-list.ts"
import { type PostgresServer, startPostgres } from "./postgres.ts"
import { guard, remove, temporaryFolder } from "./processes.ts"
import { startRestate } from "./restate-server.ts"
import type { PeerWorkload } from "./workloads.ts"

export interface PeersOptions extends Choice {
  readonly rounds: number
  /** Where databases go; default: the system's temporary folder. */
  readonly folder?: string
}

export async function runPeers(options: PeersOptions): Promise<PeersOutcome> {
  const { engines, workloads } = options
  using _ = guard()
  const machine = describeMachine(options.folder)
  const notInstalled = await reasonOf(install())
  const wantsPostgres = notInstalled === undefined && engines.some(({ needs }) => needs === "postgres")
  const started = wantsPostgres ? await attempt(startPostgres(options.folder)) : {}
  await using postgres = started.value
  const measured = new Map<PeerDescription, Record<string, WorkloadOutcome>>(engines.map((engine) => [engine, {}]))
  for (const workload of workloads) {
    console.log(`\n${workload.id}: ${workload.title}`)
    for (const [engine, outcomes] of measured) {
      const reason = engine.cannot?.[workload.id] ?? (engine === ours ? undefined : notInstalled) ?? (engine.needs === "postgres" ? started.reason : undefined)
      const outcome = reason === undefined ? await measure(engine, workload, options, postgres) : { reason }
      if ("reason" in outcome) console.log(`  ${engine.name}: not measured: ${outcome.reason}`)
      outcomes[workload.id] = outcome
    }
  }
  return {
    measuredOn: new Date().toISOString().slice(0, "2026-01-01".length),
    machine,
    ...(postgres === undefined ? {} : { postgres: postgres.description }),
    rounds: options.rounds,
    workloads: workloads.map(({ id, title }) => ({ id, title })),
    engines: [...measured].map(([engine, outcomes]) => outcomeOf(engine, outcomes, notInstalled === undefined ? versionOf : () => "not installed")),
  }
}

/** All rounds, or the reason why not: half of a measurement is none. */
async function measure(
  engine: PeerDescription,
  workload: PeerWorkload,
  { rounds, folder }: PeersOptions,
  postgres: PostgresServer | undefined,
): Promise<WorkloadOutcome> {
  console.log(`  ${engine.name} …`)
  const samples: Sample[] = []
  const processes = workload.processPerRound ? rounds : 1
  try {
    for (let i = 0; i < processes; i++) {
      await using restate = engine.needs === "restate" ? await startRestate(folder) : undefined
      const place = temporaryFolder(folder)
      await measureInProcess({
        peer: engine.id,
        workload: workload.id,
        rounds: rounds / processes,
        place: { folder: place, ...(postgres && { databaseUrl: postgres.url }), ...(restate && { restate: restate.address }) },
        onSample(sample) {
          const serverMb = restate?.residentMb()
          samples.push(serverMb === undefined ? sample : { ...sample, serverMb })
          console.log(`    ${samples.length} of ${rounds}: ${sampleText(sample)}`)
        },
      })
      remove(place)
    }
    return { figures: summarise(workload, samples) }
  } catch (error) {
    return { reason: messageOf(error) }
  }
}

function summarise(workload: PeerWorkload, samples: readonly Sample[]): Readonly<Record<string, Spread>> {
  const figures: Record<string, Spread> = {}
  for (const { key, optional } of peerFigures.filter((figure) => figure.workload === workload.id)) {
    const values = samples.map((sample) => sample[key])
    if (values.every((value) => value !== undefined && Number.isFinite(value) && value > 0)) figures[key] = spreadOf(values as readonly number[])
    else if (!optional) throw new Error(`${key} was measured as ${values.join(", ")}`)
  }
  return figures
}

const spreadOf = (values: readonly number[]): Spread => ({ median: median(values), min: Math.min(...values), max: Math.max(...values) })

function outcomeOf(
  { id, name, packages, settings, remarks = [] }: PeerDescription,
  workloads: Readonly<Record<string, WorkloadOutcome>>,
  version: (name: string) => string,
): EngineOutcome {
  return { id, name, versions: Object.fromEntries(packages.map((pack) => [pack, version(pack)])), settings, remarks, workloads }
}

async function attempt<T>(work: Promise<T>): Promise<{ readonly value?: T; readonly reason?: string }> {
  try {
    return { value: await work }
  } catch (error) {
    return { reason: messageOf(error) }
  }
}

const reasonOf = async (work: Promise<void>) => (await attempt(work)).reason

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
