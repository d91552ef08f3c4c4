// What `npm test` consists of, in the order in which it runs. The measurements come last and alone: nothing else may use the processor meanwhile.

export interface Suite {
  readonly name: string
  /** Run one after another; the suite fails with the first that fails. */
  readonly commands: readonly string[]
  /** Part of `npm run test:long`, where LONG=1 asks for the whole form. */
  readonly long?: true
  /** What must exist for the suite to make sense. */
  readonly needs?: readonly string[]
}

const vitest = (project: string, ...options: readonly string[]) => ["vitest run", `--project ${project}`, ...options].join(" ")

export const suites: readonly Suite[] = [
  { name: "format", commands: ["oxfmt --check"] },
  { name: "lint", commands: ["npm run --silent lint"] },
  { name: "typecheck", commands: ["npm run --silent typecheck"], needs: ["src/index.ts"] },
  { name: "build", commands: ["npm run --silent build"], long: true, needs: ["src/index.ts"] },
  { name: "unit", commands: [vitest("unit")] },
  { name: "simulation", commands: [vitest("simulation")], long: true, needs: ["test/simulation"] },
  { name: "journals", commands: [vitest("journals")], needs: ["test/journals"] },
  { name: "crash", commands: [vitest("crash", "--no-file-parallelism")], long: true, needs: ["test/crash"] },
  {
    name: "package",
    commands: ["npm run --silent package", vitest("package")],
    long: true,
    needs: ["src/index.ts", "README.md"],
  },
  { name: "knip", commands: ["npm run --silent knip"], needs: ["src/index.ts"] },
  { name: "bench", commands: ["node bench/smoke.ts"], needs: ["bench/smoke.ts"] },
]
