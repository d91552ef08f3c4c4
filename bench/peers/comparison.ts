import type { Spread } from "../measurement.ts"
import { type PeerFigure, peerFigures } from "./figures.ts"
import type { EngineOutcome, PeersOutcome } from "./outcome.ts"

export interface Standing {
  readonly engine: EngineOutcome
  readonly value?: Spread
  /** How many times better Perdure is; below 1 the peer is better. None for Perdure itself, and where one of both was not measured. */
  readonly lead?: number
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
      const base = ours && valueOf(figure, ours)?.median
      const standings = engines.map((engine): Standing => {
        const value = valueOf(figure, engine)
        if (value === undefined) return { engine }
        if (engine === ours || base === undefined) return { engine, value }
        return { engine, value, lead: figure.better === "more" ? base / value.median : value.median / base }
      })
      return { figure, standings: figure.optional ? standings.filter(({ value }) => value !== undefined) : standings }
    })
    .filter(({ standings }) => standings.length > 0)
}

function valueOf({ workload, key }: PeerFigure, engine: EngineOutcome): Spread | undefined {
  const outcome = engine.workloads[workload]
  return outcome !== undefined && "figures" in outcome ? outcome.figures[key] : undefined
}
