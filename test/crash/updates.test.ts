import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import type { HistoryEntry } from "../../src/index.ts"
import type { Deposit } from "./bond-workflows.ts"
import { CrashBed } from "./crash-bed.ts"
import { wholeHistory } from "./findings.ts"
import { killSeries } from "./kill-series.ts"
import { readLedger } from "./ledger.ts"
import { until } from "./until.ts"

const long = process.env["LONG"] === "1"
const kills = long ? 100 : 14
const accounts = long ? 40 : 10
const updatesEach = long ? 50 : 16
const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9))

interface Sent {
  readonly account: string
  readonly amount: number
  readonly answer: Promise<Answer>
}
type Answer = { readonly ok: true; readonly value: Deposit } | { readonly ok: false; readonly message: string }

let bed: CrashBed

beforeEach(async () => {
  bed = await CrashBed.open()
})

afterEach(() => bed.close())

describe("updates of a worker that is killed again and again", () => {
  it("each is accepted or refused, done once, and answered once, in the process that sent it", async () => {
    console.log(`kill test of updates: ${kills} kills, ${accounts} accounts, ${updatesEach} updates each, SEED=${seed}`)
    const { engine } = bed.load
    const random = new SeededRandom(`updates ${seed}`)
    const ids = Array.from({ length: accounts }, (_, n) => `account-${n}`)
    const first = bed.spawn()
    for (const id of ids) await engine.start("account", { id, version: "1", allowUnknown: true })
    // An instance accepts updates only after its code has set the handlers.
    for (const id of ids) expect(await until(async () => (await engine.get(id).status()) === "waiting", 10_000)).toBe(true)
    await first.kill()

    const sent: Sent[] = []
    const send = (account: string) => {
      const amount = Math.floor(random.next() * 100) - 10
      const answer = engine.update(account, "deposit", amount, Math.floor(random.next() * 10)).then(
        (value): Answer => ({ ok: true, value: value as Deposit }),
        (error: unknown): Answer => ({ ok: false, message: (error as Error).message }),
      )
      sent.push({ account, amount, answer })
    }
    const last = await killSeries(bed, kills, seed, (kill) => {
      const due = Math.ceil((updatesEach * kill) / kills) - Math.ceil((updatesEach * (kill - 1)) / kills)
      for (const id of ids) for (let n = 0; n < due; n++) send(id)
    })
    const answers = await Promise.all(sent.map(({ answer }) => answer))
    for (const id of ids) await engine.get(id).sendEvent("close")
    const balances = new Map(await Promise.all(ids.map(async (id) => [id, await engine.get(id).result({ timeout: "30s" })] as const)))

    const problems: string[] = []
    for (const [index, { account, amount }] of sent.entries()) {
      const problem = wrongAnswer(amount, answers[index]!)
      if (problem) problems.push(`${account}, update ${index} of ${amount}: ${problem}`)
    }
    const executed = new Set(readLedger(bed.folder).flatMap((line) => (line.what === "end" ? [line.nonce] : [])))
    for (const id of ids) {
      const own = sent.filter(({ account }) => account === id)
      const history = await wholeHistory(engine, id)
      const accepted = own.filter(({ amount }) => amount >= 0)
      const total = accepted.reduce((sum, { amount }) => sum + amount, 0)
      if (balances.get(id) !== total) problems.push(`${id} has ${String(balances.get(id))}, not ${total}`)
      const recorded = booked(history)
      for (const { nonce } of recorded) if (!executed.has(nonce)) problems.push(`${id} has booked what was never done: ${nonce}`)
      const answered = answers.flatMap((answer, index) => (answer.ok && sent[index]?.account === id ? [answer.value.nonce] : []))
      if (new Set(answered).size !== answered.length) problems.push(`${id} gave an answer twice`)
      for (const nonce of answered) if (!recorded.some((one) => one.nonce === nonce)) problems.push(`${id} answered what it had not booked: ${nonce}`)
      problems.push(...journalProblems(id, history, accepted.length, own.length - accepted.length))
    }
    expect(problems).toEqual([])
    expect(last.output).toBe("")
    expect(await last.kill("SIGTERM")).toEqual({ code: 0, signal: null })
  })
})

function wrongAnswer(amount: number, answer: Answer): string | undefined {
  const expected = amount < 0 ? `${amount} is no amount` : amount % 10 === 7 ? `${amount} is booked, and brings bad luck` : undefined
  if (answer.ok) return expected === undefined && answer.value.value === amount ? undefined : `answered ${JSON.stringify(answer.value)}`
  return answer.message === expected ? undefined : answer.message
}

function booked(history: readonly HistoryEntry[]): readonly { readonly nonce: string }[] {
  return history.filter(({ type }) => type === "step.completed").map(({ data }) => data["value"] as { nonce: string })
}

function journalProblems(id: string, history: readonly HistoryEntry[], acceptedMax: number, refused: number): readonly string[] {
  const of = (type: string) => history.filter((entry) => entry.type === type).map(({ data }) => data["update"] as string)
  const [accepted, completed, failed] = [of("update.accepted"), of("update.completed"), of("update.failed")]
  const answered = [...completed, ...failed]
  return [
    ...(accepted.length === acceptedMax ? [] : [`${id} accepted ${accepted.length} updates, not ${acceptedMax}`]),
    ...(answered.length === acceptedMax + refused && new Set(answered).size === answered.length ? [] : [`${id} recorded ${answered.length} answers`]),
    ...(new Set(accepted).size === accepted.length ? [] : [`${id} accepted an update twice`]),
    ...(accepted.every((update) => answered.includes(update)) ? [] : [`${id} left an update without an answer`]),
  ]
}
