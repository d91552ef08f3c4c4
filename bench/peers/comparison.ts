import type { Spread } from "../measurement.ts"
import { median } from "../statistics.ts"
import { type PeerFigure, peerFigures } from "./figures.ts"
import type { EngineOutcome, PeersOutcome } from "./outcome.ts"

export interface Standing {
  readonly engine: EngineOutcome
  readonly value?: Spread
  /** How many times better Perdure is, by the ratios of the rounds; below 1 the peer is better. None for Perdure itself, and where one of both was not measured. */
  readonly lead?: Spread
}

export interface Comparison {
  readonly figure: PeerFigure
  readonly standings: readonly Standing[]
}

export function compare({ engines, workloads }: PeersOutcome): readonly Comparison[] {
  const [ours] = engines
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

function valuesOf({ workload, key }: PeerFigure, engine: EngineOutcome): readonly number[] | undefined {
  const outcome = engine.workloads[workload]
  if (outcome === undefined || "reason" in outcome) return undefined
  const values = outcome.rounds.flatMap((sample) => sample[key] ?? [])
  return values.length === outcome.rounds.length ? values : undefined
}

const spreadOf = (values: readonly number[]): Spread => ({ median: median(values), min: Math.min(...values), max: Math.max(...values) })
