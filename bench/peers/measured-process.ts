// One engine, one workload, one process, within a limit of time.

import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Sample } from "../workload.ts"
import type { Place } from "./adapter.ts"
import { keep, stop } from "./processes.ts"

const script = fileURLToPath(new URL("./child.ts", import.meta.url))

const limitMs = 240_000
/** For closing, once everything is measured. */
const closeMsMax = 15_000

export interface MeasuredProcess {
  readonly peer: string
  readonly workload: string
  readonly rounds: number
  readonly place: Place
  readonly onSample: (sample: Sample) => void
}

/** Throws with the reason when not all rounds could be measured. */
export async function measureInProcess({ peer, workload, rounds, place, onSample }: MeasuredProcess): Promise<void> {
  const child = keep(
    fork(script, [peer, workload, String(rounds), JSON.stringify(place)], {
      execArgv: ["--expose-gc", "--disable-warning=ExperimentalWarning"],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    }),
  )
  let complaint = ""
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (complaint = (complaint + text).slice(-8_000)))
  let measured = 0
  let isLate = false
  const end = () => {
    isLate = measured < rounds
    void stop(child, "SIGKILL")
  }
  let timer = setTimeout(end, limitMs)
  child.on("message", (sample: Sample) => {
    measured += 1
    onSample(sample)
    if (measured < rounds) return
    clearTimeout(timer)
    timer = setTimeout(end, closeMsMax)
  })
  const [code, signal] = (await once(child, "close")) as [number | null, string | null]
  clearTimeout(timer)
  if (measured === rounds) return
  if (isLate) throw new Error(`stopped after ${limitMs / 1_000} s with ${measured} of ${rounds} rounds measured`)
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
