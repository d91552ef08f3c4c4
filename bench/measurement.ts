// Runs workloads in processes of their own, one after another, and makes figures of what they send.

import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Message } from "./child.ts"
import { TemporaryFolders } from "./folders.ts"
import { median } from "./statistics.ts"
import { type Target, targetCalled, type TargetId } from "./target.ts"
import type { Figure, Goal, Sample, Workload } from "./workload.ts"

export interface MeasureOptions {
  readonly rounds: number
  /** Default: SQLite. */
  readonly target?: TargetId
  /** Where the databases go; default: the system's temporary folder. */
  readonly folder?: string
  readonly onSample?: (sample: Sample) => void
  readonly onProgress?: (text: string) => void
}

export interface Measured {
  readonly figure: Figure
  readonly value: Spread
  readonly floor?: Spread
  /** The spread of the ratios within the rounds, because both sides of such a ratio come from the same moment. */
  readonly ratio?: Spread
  readonly met?: boolean
}

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

const script = fileURLToPath(new URL("./.build/child.js", import.meta.url))

/** Measures all rounds, or throws: an incomplete measurement counts as none. */
export async function measure(workload: Workload, options: MeasureOptions): Promise<readonly Sample[]> {
  using folders = new TemporaryFolders(options.folder)
  const samples: Sample[] = []
  const processes = workload.processPerRound ? options.rounds : 1
  const rounds = workload.processPerRound ? 1 : options.rounds
  const running: Promise<void>[] = []
  try {
    for (let i = 1; i <= processes; i++) {
      const which = processes === 1 ? "" : `process ${i} of ${processes}, `
      // Rounds run one after another, but the next round may begin while a process rests.
      await new Promise<void>((resolve, reject) => {
        const child = runChild([workload.id, options.target ?? "sqlite", folders.create(), String(rounds)], (message) => {
          if ("resting" in message) return resolve()
          if ("progress" in message) return options.onProgress?.(`${which}${message.progress}`)
          samples.push(message.sample)
          options.onSample?.(message.sample)
        })
        running.push(child)
        child.then(resolve, reject)
      })
    }
  } finally {
    // The processes use their folders until all of them have ended.
    await Promise.allSettled(running)
  }
  await Promise.all(running)
  if (samples.length !== options.rounds) throw new Error(`${workload.id} gave ${samples.length} of ${options.rounds} rounds`)
  return samples
}

async function runChild(args: readonly string[], onMessage: (message: Message) => void): Promise<void> {
  const child = fork(script, args, { execArgv: ["--expose-gc", "--disable-warning=ExperimentalWarning"], stdio: ["ignore", "inherit", "pipe", "ipc"] })
  let complaint = ""
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (complaint += text))
  child.on("message", onMessage)
  const [code, signal] = (await once(child, "close")) as [number | null, string | null]
  if (code !== 0) throw new Error(complaint.trim() || `the process ended with ${signal ?? `code ${String(code)}`}`)
  if (complaint !== "") process.stderr.write(complaint)
}

export function summarise(workload: Workload, samples: readonly Sample[], target: Target = targetCalled("sqlite")): readonly Measured[] {
  const figures = workload.figures.filter(({ on }) => isOn(target, on))
  return figures.map(({ goal: general, goals = {}, ...measured }) => {
    const wanted = target.id in goals ? goals[target.id as TargetId] : general
    const goal = target.hasNoGoals ? undefined : wanted
    const figure: Figure = goal === undefined ? measured : { ...measured, goal }
    const values = samples.map((sample) => positive(sample, figure.key))
    const { floor } = figure
    if (floor === undefined) return { figure, value: spreadOf(values), ...verdict(goal, median(values)) }
    const floors = samples.map((sample) => positive(sample, floor.key))
    const ratios = values.map((value, round) => value / (floors[round] ?? Number.NaN))
    const judged = goal?.of === "figure" ? median(values) : median(ratios)
    return { figure, value: spreadOf(values), floor: spreadOf(floors), ratio: spreadOf(ratios), ...verdict(goal, judged) }
  })
}

/** Whether a figure can be measured on this target. */
export const isOn = (target: Target, on: Figure["on"]) => on === undefined || [on].flat().some((id) => id === target.id)

/** A number of a sample. No number can be zero; a zero was not measured. */
function positive(sample: Sample, key: string): number {
  const value = sample[key]
  if (value === undefined || !(Number.isFinite(value) && value > 0)) throw new Error(`${key} was measured as ${String(value)}`)
  return value
}

function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

function verdict(goal: Goal | undefined, value: number): { readonly met?: boolean } {
  if (goal === undefined) return {}
  return { met: goal.bound === "at least" ? value >= goal.limit : value <= goal.limit }
}
