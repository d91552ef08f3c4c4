// Measures the cost of followers of the change stream: `npm run build && node --expose-gc bench/followers.ts [followers] [starts]`, by default 2,000 and 100.
// This process serves a SQLite file and starts instances; another process follows, and checks that every follower gets every change in order.

import { fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Perdure } from "perdure"
import { serve } from "perdure/http"
import { sqlite } from "perdure/sqlite"
import { sequence } from "./bench-workflows.ts"
import type { FollowReport } from "./follower-process.ts"
import { TemporaryFolders } from "./folders.ts"
import { quantile } from "./statistics.ts"

const followers = Number(process.argv[2] ?? 2_000)
const starts = Number(process.argv[3] ?? 100)
/** A sequence of one step: started, step started, step completed, completed. */
const changesPerStart = 4
const megabytes = () => Math.round(process.memoryUsage.rss() / 2 ** 20)

using folders = new TemporaryFolders()
await using engine = await Perdure.open({ store: sqlite(join(folders.create(), "app.db")), workflows: [sequence] })
await using server = await serve(engine, { port: 0 })

async function start(count: number): Promise<number[]> {
  const times: number[] = []
  for (let index = 0; index < count; index++) {
    const from = performance.now()
    const handle = await engine.start(sequence, { input: 1 })
    await handle.result()
    times.push(performance.now() - from)
  }
  return times
}

const mean = (times: readonly number[]) => times.reduce((sum, ms) => sum + ms, 0) / times.length
const inMs = (times: readonly number[]) => `${mean(times).toFixed(2)} ms mean, ${quantile(times, 0.5).toFixed(2)} p50, ${quantile(times, 0.99).toFixed(2)} p99`

await start(200)
console.log(`a start and its result, nobody follows: ${inMs(await start(starts))}`)

const child = fork(fileURLToPath(new URL("./follower-process.ts", import.meta.url)), [server.url, String(followers), String(starts * changesPerStart)])
const nextMessage = async () => ((await once(child, "message")) as [FollowReport | "following"])[0]
await nextMessage()
globalThis.gc?.()
const before = megabytes()
let peak = before
const sampling = setInterval(() => (peak = Math.max(peak, megabytes())), 20)
const processor = process.cpuUsage()
const from = performance.now()
const told = nextMessage()
const times = await start(starts)
const startedMs = performance.now() - from
const report = (await told) as FollowReport
const { user, system } = process.cpuUsage(processor)
clearInterval(sampling)
peak = Math.max(peak, megabytes())
console.log(`a start and its result, ${followers} follow: ${inMs(times)}`)
console.log(`${starts} starts: ${startedMs.toFixed(0)} ms; the last follower has the last change after ${(performance.now() - from).toFixed(0)} ms`)
console.log(`processor: ${((user + system) / 1_000).toFixed(0)} ms; memory: ${before} MB with all followers, ${peak} MB at most`)
console.log(`${report.complete} of ${followers} followers got all ${starts * changesPerStart} changes in order`)
for (const fault of report.faults) console.log(fault)
process.exitCode = report.complete === followers ? 0 : 1
child.disconnect()
