// Sends requests to a server at a fixed rate, whether or not responses come: `node http-generator.js <plan>`. http-load.ts starts this process.
// The time of a request counts from the moment at which it was due, so a request that waits behind a slow one is slow too.

import { Agent, request } from "node:http"
import type { LoadPlan, LoadReport } from "./http-load.ts"

const plan = JSON.parse(process.argv[2] ?? "") as LoadPlan
const agent = new Agent({ keepAlive: true, maxSockets: 512 })
const report: { starts: number[]; reads: number[]; faults: string[] } = { starts: [], reads: [], faults: [] }
const { hostname, port } = new URL(plan.url)
const faultsMax = 20
const steps = 3

let sent = 0
let answered = 0
const known = [plan.first]

function send(method: string, path: string, body: string | undefined, dueAt: number, latencies: number[], expected: number, onAnswer?: () => void): void {
  sent++
  const finish = (fault?: string) => {
    answered++
    latencies.push(performance.now() - dueAt)
    if (fault !== undefined && report.faults.length < faultsMax) report.faults.push(`${method} ${path}: ${fault}`)
  }
  const headers = body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
  const outgoing = request({ agent, hostname, port, method, path, headers }, (response) => {
    response.resume()
    response.once("end", () => {
      if (response.statusCode === expected) onAnswer?.()
      finish(response.statusCode === expected ? undefined : `status ${response.statusCode}`)
    })
  })
  outgoing.once("error", (error) => finish(error.message))
  outgoing.end(body)
}

function start(index: number, dueAt: number): void {
  const id = `load-${process.pid}-${index}`
  const body = JSON.stringify({ type: "sequence", id, payload: steps })
  send("POST", "/workflows", body, dueAt, report.starts, 201, () => known.push(id))
}

/** Reads one of the last started instances, which runs or has just completed. */
function read(index: number, dueAt: number): void {
  const id = known[Math.max(0, known.length - 1 - ((index * 7919) % 1_000))] ?? plan.first
  send("GET", `/workflows/${id}`, undefined, dueAt, report.reads, 200)
}

/** Calls a function at a fixed rate. Missed moments are made up for at once. */
class Rate {
  #next = 0
  readonly #intervalMs: number
  readonly #call: (index: number, dueAt: number) => void

  constructor(perSecond: number, call: (index: number, dueAt: number) => void) {
    this.#intervalMs = 1_000 / perSecond
    this.#call = call
  }

  upTo(now: number, from: number): void {
    for (let dueAt = from + this.#next * this.#intervalMs; dueAt <= now; dueAt = from + ++this.#next * this.#intervalMs) this.#call(this.#next, dueAt)
  }
}

const from = performance.now()
const end = from + plan.seconds * 1_000
const rates = [new Rate(plan.startsPerSecond, start), new Rate(plan.readsPerSecond, read)]

function tick(): void {
  const now = performance.now()
  for (const rate of rates) rate.upTo(Math.min(now, end), from)
  if (now < end) setTimeout(tick, 1)
  else whenAnswered()
}

function whenAnswered(): void {
  if (answered < sent) return void setTimeout(whenAnswered, 10)
  agent.destroy()
  process.send?.(report satisfies LoadReport, () => process.exit(0))
}

tick()
