// The suites of `npm test`, in the order in which they start. The runner keeps two running at a time, so the long ones come early.

export interface Suite {
  readonly name: string
  /** Run one after another; the suite fails with the first that fails. */
  readonly commands: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Part of `npm run test:long`, where LONG=1 asks for the whole form; "only": of that alone. */
  readonly long?: true | "only"
  /** Suites that have to end first. */
  readonly after?: readonly string[]
  /** Suites of one lane never run at the same time. */
  readonly lane?: string
  /** The suite measures times, so it runs last, and nothing else runs meanwhile. */
  readonly alone?: true
}

const vitest = (project: string, ...options: readonly string[]) => ["vitest run", `--project ${project}`, ...options].join(" ")

/** These suites wait in real time, and some kill processes. Two of them together would need more processor than two cores have. */
const realTime = "real time"

export const suites: readonly Suite[] = [
  { name: "format", commands: ["oxfmt --check"] },
  { name: "lint", commands: ["npm run --silent lint"] },
  { name: "typecheck", commands: ["npm run --silent typecheck"] },
  { name: "build", commands: ["npm run --silent build"], long: true },
  { name: "crash", commands: [vitest("crash", "--no-file-parallelism")], long: true, after: ["build"], lane: realTime },
  { name: "unit", commands: [vitest("unit")] },
  { name: "chaos", commands: [vitest("chaos", "--no-file-parallelism")], long: true, lane: realTime },
  { name: "workerd", commands: ["npm test --silent --workspace @perdure/workerd-tests", vitest("worker")], long: true },
  { name: "postgres", commands: [vitest("postgres")] },
  { name: "side-by-side", commands: [vitest("side-by-side")], lane: realTime },
  { name: "cli", commands: [vitest("cli")] },
  { name: "package", commands: ["npm run --silent package", vitest("package")], long: true, after: ["build"] },
  { name: "simulation", commands: [vitest("simulation")], long: true },
  { name: "journals", commands: [vitest("journals")] },
  { name: "knip", commands: ["npm run --silent knip"] },
  // A million instances asleep and a million ended: how many rows are read, and how long that takes.
  { name: "scale", commands: [vitest("postgres", "test/postgres/scale.test.ts"), vitest("scale")], long: "only", alone: true },
  { name: "bench", commands: ["npm run --silent bench:build", "node bench/smoke.ts"], after: ["build"], alone: true },
]
