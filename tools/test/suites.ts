// What `npm test` consists of, in the order in which it runs. The measurements come last and alone: nothing else may use the processor meanwhile.

export interface Suite {
  readonly name: string
  /** Run one after another; the suite fails with the first that fails. */
  readonly commands: readonly string[]
  /** Part of `npm run test:long`, where LONG=1 asks for the whole form; "only": of that alone. */
  readonly long?: true | "only"
}

const vitest = (project: string, ...options: readonly string[]) => ["vitest run", `--project ${project}`, ...options].join(" ")

export const suites: readonly Suite[] = [
  { name: "format", commands: ["oxfmt --check"] },
  { name: "lint", commands: ["npm run --silent lint"] },
  { name: "typecheck", commands: ["npm run --silent typecheck"] },
  { name: "build", commands: ["npm run --silent build"], long: true },
  { name: "unit", commands: [vitest("unit")] },
  { name: "postgres", commands: [vitest("postgres")] },
  { name: "workerd", commands: ["npm test --silent --workspace @perdure/workerd-tests", vitest("worker")], long: true },
  { name: "simulation", commands: [vitest("simulation")], long: true },
  { name: "journals", commands: [vitest("journals")] },
  { name: "cli", commands: [vitest("cli")] },
  { name: "crash", commands: [vitest("crash", "--no-file-parallelism")], long: true },
  { name: "chaos", commands: [vitest("chaos", "--no-file-parallelism")], long: true },
  // A million of each: what is read, and how long it takes.
  { name: "scale", commands: [vitest("postgres", "test/postgres/scale.test.ts"), vitest("scale")], long: "only" },
  {
    name: "package",
    commands: ["npm run --silent package", vitest("package")],
    long: true,
  },
  { name: "knip", commands: ["npm run --silent knip"] },
  { name: "bench", commands: ["npm run --silent bench:build", "node bench/smoke.ts"] },
]
