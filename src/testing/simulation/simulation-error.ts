import { PerdureError } from "../../core/errors.ts"
import { decodeRow } from "../../core/journal/turn-codec.ts"
import type { JournalExport } from "../../engine/diagnostics/read-only-replay.ts"
import type { Seed } from "./fault-plan.ts"
import type { Finding } from "./findings.ts"
import type { RunRecord } from "./simulated-run.ts"

const entriesMax = 40
const valueLengthMax = 160

/** A run that shows a mistake, with everything that is needed to find the cause. */
export class SimulationError extends PerdureError {
  /** The name of the class. */
  override readonly name = "SimulationError"
  /** The seed of the failed run: `simulate(workflow, { seeds: [seed] })` repeats the run. Undefined: the run failed without any fault. */
  readonly seed: Seed | undefined
  /** The kind of the mistake: another result, other effects, no end, a stall, a step that the code does not await, or an effect outside steps. */
  readonly kind: Finding["kind"]
  /** The injected faults, in the order in which they happened. */
  readonly faults: readonly string[]
  /** The value in the run without faults, if two runs were compared. */
  readonly expected: string | undefined
  /** The value in this run. */
  readonly found: string
  /** Possible causes, in plain sentences: for example the line that read the clock, or an event without an id. */
  readonly hints: readonly string[]
  /** The journal of the instance in this run; undefined if the instance was not started. */
  readonly journal: JournalExport | undefined

  constructor(workflow: string, seed: Seed | undefined, finding: Finding, run: RunRecord) {
    const { kind, expected, found, hints } = finding
    const { faults, journal } = run
    const where = seed === undefined ? "without any fault" : typeof seed === "number" ? `under seed ${seed}` : `under "${seed}"`
    const lines = [
      `workflow "${workflow}" is not safe: ${finding.what} (${where})`,
      ...faults.map((fault) => `  fault:    ${fault}`),
      ...(expected === undefined ? [`  found:    ${found}`] : [`  without:  ${expected}`, `  with:     ${found}`]),
      ...hints.map((hint) => `  hint:     ${hint}`),
      `  again:    ${reproduction(workflow, seed)}`,
      ...(journal ? ["  journal:", ...journalLines(journal)] : []),
    ]
    super("SIMULATION_FAILED", lines.join("\n"), { details: { workflow, seed, kind } })
    this.seed = seed
    this.kind = kind
    this.faults = faults
    this.expected = expected
    this.found = found
    this.hints = hints
    this.journal = journal
  }
}

function reproduction(workflow: string, seed: Seed | undefined): string {
  const name = workflow.replaceAll(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) => next?.toUpperCase() ?? "")
  return `await simulate(${/^[A-Za-z]/.test(name) ? name : "workflow"}, { …, seeds: [${seed === undefined ? "" : JSON.stringify(seed)}] })`
}

function journalLines({ instance, rows }: JournalExport): readonly string[] {
  const entries = rows.flatMap((row) => decodeRow(row))
  const lines = entries.map(({ position, at, entry }) => {
    const { type, ...fields } = entry
    const data = "value" in fields ? { ...fields, value: fields.value.text } : fields
    const text = Object.entries(data).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    return `    ${position} +${at - instance.createdAt}ms ${type} ${text.join(" ").slice(0, valueLengthMax)}`.trimEnd()
  })
  return lines.length <= entriesMax ? lines : [...lines.slice(0, entriesMax / 2), `    … ${lines.length - entriesMax} more …`, ...lines.slice(-entriesMax / 2)]
}
