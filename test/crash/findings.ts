import type { Engine, HistoryEntry } from "../../src/index.ts"
import { audit } from "./audit.ts"
import type { CrashBed } from "./crash-bed.ts"
import { type LedgerLine, readLedger } from "./ledger.ts"
import type { Plan } from "./plan.ts"
import type { SceneResult } from "./scene.ts"

/** Waits for all instances, audits each, and returns the violations. */
export async function findings({ folder, load }: CrashBed, plans: readonly Plan[]): Promise<readonly string[]> {
  const { engine } = load
  const settled = await Promise.allSettled(plans.map(({ id }) => engine.get(id).result({ timeout: "60s" })))
  const problems = [...load.refused]
  const ledger = readLedger(folder)
  const { lines, lifeStarts, keyProblems } = sorted(ledger)
  problems.push(...keyProblems)
  let entries = 0
  for (const [index, plan] of plans.entries()) {
    const { id } = plan
    const outcome = settled[index]!
    if (!load.started.has(id)) problems.push(`${id}: its start was not acknowledged`)
    if (outcome.status === "rejected") {
      problems.push(`${id}: ${String(outcome.reason)}; ${JSON.stringify(await engine.why(id))}`)
      continue
    }
    const history = await wholeHistory(engine, id)
    entries += history.length
    const evidence = { plan, lines: lines.get(id) ?? [], history, result: outcome.value as SceneResult, sent: load.sent.get(id) ?? [], lifeStarts }
    problems.push(...audit(evidence))
  }
  const begins = ledger.filter(({ what }) => what === "begin").length
  console.log(`audited ${plans.length} instances: ${entries} journal entries, ${ledger.length} ledger lines, ${begins} attempts begun`)
  return problems
}

function sorted(ledger: readonly LedgerLine[]) {
  const lines = new Map<string, LedgerLine[]>()
  const lifeStarts = new Map<number, number>()
  const owners = new Map<string, string>()
  const keyProblems: string[] = []
  for (const line of ledger) {
    if (line.what === "life") {
      lifeStarts.set(line.life, line.at)
      continue
    }
    if (line.what === "begin") {
      const owner = owners.get(line.key) ?? line.instance
      if (owner !== line.instance) keyProblems.push(`${line.instance} has an idempotency key of ${owner}`)
      owners.set(line.key, owner)
    }
    const own = lines.get(line.instance)
    if (own) own.push(line)
    else lines.set(line.instance, [line])
  }
  return { lines, lifeStarts, keyProblems }
}

export async function wholeHistory(engine: Engine, id: string): Promise<readonly HistoryEntry[]> {
  const entries: HistoryEntry[] = []
  for (let cursor: string | undefined = "0"; cursor !== undefined;) {
    const page = await engine.get(id).history({ cursor, limit: 1_000 })
    entries.push(...page.entries)
    cursor = page.cursor
  }
  return entries
}
