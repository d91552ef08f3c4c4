import { fileURLToPath } from "node:url"
import { afterEach, describe, expect, it, vi } from "vitest"
import { absurd } from "./peers/adapters/absurd-peer.ts"
import type { EngineOutcome, PeersOutcome, WorkloadOutcome } from "./peers/outcome.ts"
import { choose } from "./peers/choice.ts"
import { laterPeersMarkdown, peersMarkdown, peersTable } from "./peers/peers-report.ts"

const measured = (key: string, ...values: readonly number[]): WorkloadOutcome => ({ rounds: values.map((value) => ({ [key]: value })) })

const engine = (name: string, workloads: EngineOutcome["workloads"]): EngineOutcome => ({
  id: name.toLowerCase(),
  name,
  versions: { [name]: "1.2.3" },
  settings: { poolSize: 20 },
  remarks: ["polls"],
  workloads,
})

const outcome: PeersOutcome = {
  measuredOn: "2026-11-16",
  machine: {
    perdure: "0.1.0",
    node: "24.0.0",
    sqlite: "3.0.0",
    settings: "defaults",
    system: "Linux",
    cores: 2,
    processor: "some",
    memoryGb: 8,
    filesystem: "ext4",
    fdatasyncMs: 0.2,
    load: 0,
  },
  rounds: 3,
  workloads: [
    { id: "W1", title: "many" },
    { id: "W3", title: "long" },
  ],
  engines: [
    engine("Perdure", { W1: measured("workflowsPerSecond", 1_000, 2_000, 500), W3: measured("stepMs", 0.3, 0.3, 0.3) }),
    engine("Slow", { W1: measured("workflowsPerSecond", 100, 200, 50), W3: { reason: "it takes no more than 10 steps" } }),
    engine("Quick", { W1: measured("workflowsPerSecond", 2_000, 2_000, 2_000), W3: measured("stepMs", 0.6, 0.9, 1.2) }),
  ],
}

const rowOf = (text: string, name: string) => text.split("\n").filter((line) => line.includes(name))

describe("the report beside other engines", () => {
  it("says how far a peer is behind, and where it is better", () => {
    expect(rowOf(peersTable(outcome), "Slow ")[0]).toMatch(/100 \(50\.0–200\) \/s +10\.0 \(10\.0–10\.0\) × behind$/)
    expect(rowOf(peersTable(outcome), "Quick ")[0]).toMatch(/2\.00 \(1\.00–4\.00\) × BETTER$/)
    expect(peersMarkdown(outcome)).toContain("| Quick | **0.500 (0.250–1.00)** | 3.00 (2.00–4.00) |")
  })

  it("of a later run with some engines says which, when, and the same of them", () => {
    const [perdure, , quick] = outcome.engines as [EngineOutcome, EngineOutcome, EngineOutcome]
    const text = laterPeersMarkdown({ ...outcome, measuredOn: "2026-11-17", engines: [{ ...perdure, id: "perdure-sqlite" }, quick] })
    expect(text).toMatch(/^Measured again on 2026-11-17, .* beside Quick alone, in 3 rounds\./)
    expect(text).toContain("| Quick | **0.500 (0.250–1.00)** | 3.00 (2.00–4.00) |")
  })

  it("gives what was not measured with its reason, and never as a number", () => {
    expect(peersMarkdown(outcome)).toContain("| Slow | 10.0 (10.0–10.0) | not measured |")
    expect(peersMarkdown(outcome)).toContain("- Slow, W3: not measured: it takes no more than 10 steps")
    expect(peersTable(outcome)).toContain("Slow, W3: not measured: it takes no more than 10 steps")
  })

  it("prints versions and settings", () => {
    for (const text of [peersTable(outcome), peersMarkdown(outcome)]) expect(text).toContain("Slow 1.2.3; poolSize: 20")
  })
})

describe("Perdure on PostgreSQL", () => {
  const onPostgres = (name: string, id: string, perSecond: number): EngineOutcome => ({
    ...engine(name, { W1: measured("workflowsPerSecond", perSecond, perSecond, perSecond) }),
    id,
    needs: "postgres",
  })
  const beside = (...others: readonly EngineOutcome[]): PeersOutcome => ({ ...outcome, engines: [...outcome.engines, ...others] })

  it("is compared with what is on the same server, and judged by that", () => {
    const text = peersMarkdown(beside(onPostgres("Perdure there", "perdure-postgres", 2_000), onPostgres("DBOS", "dbos", 90)))
    expect(text).toContain("- W1, instances a second: 22.2 (22.2–22.2) × DBOS, goal ≥ 20: met")
    expect(text).toMatch(/on the same server:\n\n.*\n.*\n\| Perdure there \|  \|.*\n\| DBOS \| 22\.2 \(22\.2–22\.2\) \|/)
    expect(peersTable(beside(onPostgres("Perdure there", "perdure-postgres", 1_000), onPostgres("DBOS", "dbos", 90)))).toContain("goal ≥ 20: NOT MET")
  })

  it("is not spoken of where it was not measured", () => {
    expect(peersMarkdown(beside(onPostgres("DBOS", "dbos", 90)))).not.toContain("same server")
  })
})

describe("the choice of engines and workloads", () => {
  const idsOf = (only?: string) => {
    const choice = choose(only)
    if ("complaint" in choice) throw new Error(choice.complaint)
    return { engines: choice.engines.map(({ id }) => id), workloads: choice.workloads.map(({ id }) => id) }
  }

  it("always measures Perdure, and everything of a kind of which nothing is named", () => {
    expect(idsOf("dbos, W1")).toEqual({ engines: ["perdure-sqlite", "perdure-postgres", "dbos"], workloads: ["W1"] })
    expect(idsOf("openworkflow").engines).toEqual(["perdure-sqlite", "perdure-postgres", "openworkflow-sqlite", "openworkflow-postgres"])
    expect(idsOf("openworkflow").workloads).toEqual(idsOf().workloads)
    expect(idsOf("W2").engines).toEqual(idsOf().engines)
  })

  it("complains of a name that nothing has", () => {
    expect(choose("W1,nobody")).toHaveProperty("complaint", expect.stringContaining("called nobody; there are perdure-sqlite, perdure-postgres, dbos"))
  })
})

describe("an engine that lacks something", () => {
  afterEach(() => vi.unstubAllEnvs())

  it("says what it lacks and how to get it", () => {
    vi.stubEnv("ABSURD_SQL", undefined)
    expect(absurd.hindrance()).toMatch(/^ABSURD_SQL is not set; .* take sql\/absurd\.sql of release 0\.5\.0 /)
    vi.stubEnv("ABSURD_SQL", "nowhere/absurd.sql")
    expect(absurd.hindrance()).toContain("names a file that is not there")
  })

  it("has nothing in its way when it is there", () => {
    vi.stubEnv("ABSURD_SQL", fileURLToPath(import.meta.url))
    expect(absurd.hindrance()).toBeUndefined()
  })
})
