import { parseArgs } from "node:util"
import type { ObjectPeersArguments } from "./objects/peers.ts"
import type { PeersArguments } from "./peers.ts"
import { choose } from "./peers/choice.ts"
import { peerWorkloads } from "./peers/workloads.ts"
import type { Section } from "./section.ts"
import { sections, workloads } from "./section-list.ts"
import { targets, type TargetId } from "./target.ts"
import type { Workload } from "./workload.ts"

export interface Arguments {
  readonly workloads: readonly Workload[]
  readonly rounds: number
  /** Measures only on these targets; default: on all targets of a workload. */
  readonly targets?: readonly TargetId[]
  /** The folder for the databases; default: the temporary folder of the system. */
  readonly folder?: string
  /** A file for all measured values. */
  readonly json?: string
  /** The section whose results are kept and written to the docs; default: none. */
  readonly section?: Section["name"]
}

export type Command =
  | { readonly does: "measure"; readonly with: Arguments }
  | { readonly does: "measure-peers"; readonly with: PeersArguments }
  | { readonly does: "measure-object-peers"; readonly with: ObjectPeersArguments }
  | { readonly does: "write-docs-from-results" }
  | { readonly does: "write-baseline" }

/** The sections that an argument of the same name chooses. */
const sectionFlags = ["objects", "dialect", "activities", "http", "growth"] as const satisfies readonly (keyof typeof sections)[]

/** Returns a complaint if the arguments contradict each other. */
export function readCommand(args: readonly string[]): Command | { readonly complaint: string } {
  let values
  try {
    ;({ values } = parseArgs({
      args: [...args],
      options: {
        activities: { type: "boolean", default: false },
        dialect: { type: "boolean", default: false },
        growth: { type: "boolean", default: false },
        http: { type: "boolean", default: false },
        objects: { type: "boolean", default: false },
        peers: { type: "boolean", default: false },
        only: { type: "string" },
        rounds: { type: "string", default: "3" },
        folder: { type: "string" },
        json: { type: "string" },
        "write-docs": { type: "boolean", default: false },
        "from-results": { type: "boolean", default: false },
        "write-baseline": { type: "boolean", default: false },
      },
    }))
  } catch (error) {
    return { complaint: error instanceof Error ? error.message : String(error) }
  }
  const { objects, peers, only, folder, json, "write-docs": docs, "from-results": fromResults, "write-baseline": baseline } = values
  if (baseline) return { does: "write-baseline" }
  if (fromResults && !docs) return { complaint: "--from-results says what --write-docs writes from; give both" }
  if (fromResults) return { does: "write-docs-from-results" }
  if (docs && only !== undefined && !peers) return { complaint: "--write-docs writes about all workloads of a run; leave --only out" }
  const rounds = Number(values.rounds)
  if (!(Number.isSafeInteger(rounds) && rounds > 0)) return { complaint: `--rounds is a whole number of at least 1, not ${values.rounds}` }
  const places = { ...(folder === undefined ? {} : { folder }), ...(json === undefined ? {} : { json }) }
  if (objects && peers && only === undefined) return { does: "measure-object-peers", with: { rounds, docs, ...places } }
  const [named, ...others] = sectionFlags.filter((name) => values[name])
  if (others.length > 0 || (peers && named !== undefined))
    return {
      complaint: `--peers, ${sectionFlags.map((name) => `--${name}`).join(", ")} are different runs; give one of them, or --objects --peers without --only`,
    }
  if (peers) {
    const choice = choose(only)
    if (docs && "workloads" in choice && choice.workloads.length < peerWorkloads.length)
      return { complaint: "--write-docs writes about all workloads of a run; name only engines" }
    return "complaint" in choice ? choice : { does: "measure-peers", with: { ...choice, rounds, docs, ...places } }
  }
  const section = sections[named ?? "workloads"]
  const all = section.name === "workloads" ? [...section.workloads, ...sections.objects.workloads] : section.workloads
  const names = only?.split(",").map((id) => id.trim()) ?? []
  const onlyOn = targets.filter(({ id }) => names.includes(id)).map(({ id }) => id)
  const ids = names.filter((name) => !onlyOn.some((id) => id === name))
  const chosen = ids.length === 0 ? all : pick(ids)
  if ("complaint" in chosen) return chosen
  const ofTargets = onlyOn.length === 0 ? {} : { targets: onlyOn }
  return { does: "measure", with: { workloads: chosen, rounds, ...ofTargets, ...places, ...(docs ? { section: section.name } : {}) } }
}

/** An id before a dash also chooses the workloads whose ids continue after the dash. */
function pick(ids: readonly string[]): readonly Workload[] | { readonly complaint: string } {
  const isChosen = (workload: Workload, id: string) => workload.id === id || workload.id.startsWith(`${id}-`)
  const unknown = ids.filter((id) => !workloads.some((workload) => isChosen(workload, id)))
  if (unknown.length > 0)
    return { complaint: `no workload called ${unknown.join(", ")}; there are ${[...workloads, ...targets].map(({ id }) => id).join(", ")}` }
  return workloads.filter((workload) => ids.some((id) => isChosen(workload, id)))
}
