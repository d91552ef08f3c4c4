// One engine, one round of a workload, one process, within a limit of time.

import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Sample } from "../workload.ts"
import type { Place } from "./adapter.ts"
import { keep, stop } from "./processes.ts"

const script = fileURLToPath(new URL("./child.ts", import.meta.url))

const limitMs = 120_000
/** The time to close an engine after the measurement. */
const closeMsMax = 15_000

export interface MeasuredProcess {
  readonly peer: string
  readonly workload: string
  readonly place: Place
  /** Called with the sample while the process is still alive with all its memory. */
  readonly onSample: (sample: Sample) => Sample
}

/** Throws the reason if the engine could not be measured. */
export async function measureInProcess({ peer, workload, place, onSample }: MeasuredProcess): Promise<Sample> {
  const child = keep(
    fork(script, [peer, workload, JSON.stringify(place)], {
      execArgv: ["--expose-gc", "--disable-warning=ExperimentalWarning"],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    }),
  )
  let complaint = ""
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (complaint = (complaint + text).slice(-8_000)))
  let measured: Sample | undefined
  let isLate = false
  const end = () => {
    isLate = true
    void stop(child, "SIGKILL")
  }
  let timer = setTimeout(end, limitMs)
  child.on("message", (sample: Sample) => {
    measured = onSample(sample)
    clearTimeout(timer)
    timer = setTimeout(end, closeMsMax)
  })
  const [code, signal] = (await once(child, "close")) as [number | null, string | null]
  clearTimeout(timer)
  if (measured !== undefined) return measured
  if (isLate) throw new Error(`stopped after ${limitMs / 1_000} s, before a round was measured`)
  throw new Error(reasonIn(complaint) ?? `the process ended with ${signal ?? `code ${String(code)}`}`)
}

function reasonIn(complaint: string): string | undefined {
  const lines = complaint
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
  const error = lines.find((line) => /^(\w+Error|Error)\b.*:/.test(line))
  return error?.replace(/^Error: /, "") ?? lines.at(-1)
}
