import type { Spread } from "../measurement.ts"
import { median } from "../statistics.ts"
import { type PeerFigure, peerFigures } from "./figures.ts"
import type { EngineOutcome, PeersOutcome } from "./outcome.ts"

export interface Standing {
  readonly engine: EngineOutcome
  readonly value?: Spread
  /** How many times better Perdure is, by the ratios of the rounds; below 1 the peer is better. Undefined for Perdure itself, and if either engine was not measured. */
  readonly lead?: Spread
}

export interface Comparison {
  readonly figure: PeerFigure
  readonly standings: readonly Standing[]
}

/** Compares all engines with one of them, by default with the first. */
export function compare({ engines, workloads }: PeersOutcome, ours: EngineOutcome | undefined = engines[0]): readonly Comparison[] {
  return peerFigures
    .filter(({ workload }) => workloads.some(({ id }) => id === workload))
    .map((figure) => {
      const base = ours && valuesOf(figure, ours)
      const standings = engines.map((engine): Standing => {
        const values = valuesOf(figure, engine)
        if (values === undefined) return { engine }
        if (engine === ours || base === undefined) return { engine, value: spreadOf(values) }
        const ratios = values.map((value, round) => (figure.better === "more" ? (base[round] ?? Number.NaN) / value : value / (base[round] ?? Number.NaN)))
        return { engine, value: spreadOf(values), lead: spreadOf(ratios) }
      })
      return { figure, standings: figure.optional ? standings.filter(({ value }) => value !== undefined) : standings }
    })
    .filter(({ standings }) => standings.length > 0)
}

/** Compares the engines on PostgreSQL, which share a server, with Perdure on PostgreSQL. Empty if Perdure was not measured there. */
export function compareOnPostgres(outcome: PeersOutcome): readonly Comparison[] {
  const engines = outcome.engines.filter(({ needs }) => needs === "postgres")
  const ours = engines.find(({ id }) => id === "perdure-postgres")
  return ours === undefined ? [] : compare({ ...outcome, engines }, ours)
}

function valuesOf({ workload, key }: PeerFigure, engine: EngineOutcome): readonly number[] | undefined {
  const outcome = engine.workloads[workload]
  if (outcome === undefined || "reason" in outcome) return undefined
  const values = outcome.rounds.flatMap((sample) => sample[key] ?? [])
  return values.length === outcome.rounds.length ? values : undefined
}

const spreadOf = (values: readonly number[]): Spread => ({ median: median(values), min: Math.min(...values), max: Math.max(...values) })
