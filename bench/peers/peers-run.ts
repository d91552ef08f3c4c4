// Measures the chosen engines with the chosen workloads. The engines take turns, round by round, so compared values were measured at about the same time,
// and other work of the machine affects all engines alike.

import { loadavg } from "node:os"
import { describeMachine } from "../machine.ts"
import { sampleText } from "../report.ts"
import type { Sample } from "../workload.ts"
import type { PeerDescription } from "./adapter.ts"
import type { Choice } from "./choice.ts"
import { peerFigures } from "./figures.ts"
import { install, versionOf } from "./installation.ts"
import { measureInProcess } from "./measured-process.ts"
import type { EngineOutcome, PeersOutcome, WorkloadOutcome } from "./outcome.ts"
import { ours } from "./peer-list.ts"
import { type MeasuredPostgres, startPostgres } from "../postgres-server.ts"
import { guard, remove, temporaryFolder } from "./processes.ts"
import { startRestate } from "./restate-server.ts"
import type { PeerWorkload } from "./workloads.ts"

export interface PeersOptions extends Choice {
  readonly rounds: number
  /** The folder for the databases; default: the temporary folder of the system. */
  readonly folder?: string
}

export async function runPeers(options: PeersOptions): Promise<PeersOutcome> {
  const { engines, workloads } = options
  using _ = guard()
  const machine = describeMachine(options.folder)
  const notInstalled = await reasonOf(install())
  const wantsPostgres = engines.some(({ needs }) => needs === "postgres")
  const started = wantsPostgres ? await attempt(startPostgres(options.folder)) : {}
  await using postgres = started.value
  const servers = { folder: options.folder, postgres }
  const hindrance = (engine: PeerDescription) =>
    (ours.includes(engine) ? undefined : notInstalled) ?? (engine.needs === "postgres" ? started.reason : undefined) ?? engine.hindrance?.()
  for (const { name, reason } of engines.map((engine) => ({ name: engine.name, reason: hindrance(engine) }))) {
    if (reason !== undefined) console.log(`\n${name} is not run: ${reason}`)
  }
  const measured = new Map<PeerDescription, Record<string, WorkloadOutcome>>(engines.map((engine) => [engine, {}]))
  for (const workload of workloads) {
    console.log(`\n${workload.id}: ${workload.title}`)
    const turns = engines.map((engine) => new Turn(engine, workload, whyNot(engine, workload) ?? hindrance(engine)))
    for (let round = 1; round <= options.rounds; round++) for (const turn of turns) await turn.measure(`${round} of ${options.rounds}`, servers)
    for (const { engine, outcome } of turns) measured.set(engine, { ...measured.get(engine), [workload.id]: outcome })
  }
  return {
    measuredOn: new Date().toISOString().slice(0, "2026-01-01".length),
    machine,
    loadAfter: loadavg()[0] ?? Number.NaN,
    ...(postgres === undefined ? {} : { postgres: postgres.description }),
    rounds: options.rounds,
    workloads: workloads.map(({ id, title }) => ({ id, title })),
    engines: [...measured].map(([engine, outcomes]) => outcomeOf(engine, outcomes, notInstalled === undefined ? versionOf : () => "not installed")),
  }
}

/** The reason why an engine or its adapter cannot run a workload. */
export const whyNot = ({ id, cannot }: PeerDescription, workload: PeerWorkload) =>
  cannot?.[workload.id] ?? (workload.sendersOf?.includes(id) === false ? "nobody has written a sender for another process" : undefined)

interface Servers {
  readonly folder: string | undefined
  readonly postgres: MeasuredPostgres | undefined
}

/** One engine in one workload. It is measured once in each round, until it fails. */
class Turn {
  readonly engine: PeerDescription
  readonly #workload: PeerWorkload
  readonly #rounds: Sample[] = []
  #reason: string | undefined

  constructor(engine: PeerDescription, workload: PeerWorkload, reason: string | undefined) {
    this.engine = engine
    this.#workload = workload
    this.#reason = reason
  }

  /** An incomplete measurement counts as none. */
  get outcome(): WorkloadOutcome {
    return this.#reason === undefined ? { rounds: this.#rounds } : { reason: this.#reason }
  }

  async measure(round: string, servers: Servers): Promise<void> {
    if (this.#reason === undefined) {
      const { value, reason } = await attempt(measure(this.engine, this.#workload, servers))
      if (value !== undefined) this.#rounds.push(value)
      this.#reason = reason
    }
    const text = this.#reason === undefined ? sampleText(this.#rounds.at(-1) ?? {}) : `not measured: ${this.#reason}`
    console.log(`  ${round}, ${this.engine.name}: ${text}`)
  }
}

/** Measures one round, in a new process and on fresh servers. */
async function measure(engine: PeerDescription, workload: PeerWorkload, { folder, postgres }: Servers): Promise<Sample> {
  await using restate = engine.needs === "restate" ? await startRestate(folder) : undefined
  const place = temporaryFolder(folder)
  const sample = await measureInProcess({
    peer: engine.id,
    workload: workload.id,
    place: { folder: place, ...(postgres && { databaseUrl: postgres.url }), ...(restate && { restate: restate.address }) },
    onSample(numbers) {
      const serverMb = workload.id === "W6" ? restate?.residentMb() : undefined
      return serverMb === undefined ? numbers : { ...numbers, serverMb }
    },
  })
  remove(place)
  for (const { key, optional } of peerFigures.filter((figure) => figure.workload === workload.id)) {
    const value = sample[key] ?? Number.NaN
    if (!optional && !(Number.isFinite(value) && value > 0)) throw new Error(`${key} was measured as ${value}`)
  }
  return sample
}

function outcomeOf(
  { id, name, packages, needs, settings, remarks = [] }: PeerDescription,
  workloads: Readonly<Record<string, WorkloadOutcome>>,
  version: (name: string) => string,
): EngineOutcome {
  return { id, name, ...(needs && { needs }), versions: Object.fromEntries(packages.map((pack) => [pack, version(pack)])), settings, remarks, workloads }
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
