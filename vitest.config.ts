import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

// Tests import what users import, from the sources. The patterns match whole names, because an alias would otherwise also match longer paths.
const alias = [
  { find: /^perdure$/, replacement: source("./src/index.ts") },
  { find: /^perdure\/activities$/, replacement: source("./src/activities.ts") },
  { find: /^perdure\/client$/, replacement: source("./src/client.ts") },
  { find: /^perdure\/cloudflare$/, replacement: source("./src/cloudflare.ts") },
  // Only workerd has this module. Tests on Node only need to import the classes that extend its classes.
  { find: /^cloudflare:workers$/, replacement: source("./src/cloudflare-workers-module.ts") },
  { find: /^cloudflare:workflows$/, replacement: source("./src/cloudflare-workflows-module.ts") },
  { find: /^perdure\/cloudflare-workflows$/, replacement: source("./src/cloudflare-workflows.ts") },
  { find: /^perdure\/http$/, replacement: source("./src/http.ts") },
  { find: /^perdure\/postgres$/, replacement: source("./src/postgres.ts") },
  { find: /^perdure\/sqlite$/, replacement: source("./src/sqlite.ts") },
  { find: /^perdure\/testing$/, replacement: source("./src/testing.ts") },
]

/** Tests that need a PostgreSQL server. */
const onPostgres = "src/stores/postgres/**/*.test.ts"

/** Each server serves one test file at a time. Half of the time of a test passes in its server. */
const postgresServers = process.env["DATABASE_URL"]?.split(" ").length ?? 2

const chaos = "test/crash/postgres/chaos/*.test.ts"

const long = process.env["LONG"] === "1"

interface ProjectTests {
  include: string[]
  exclude?: string[]
  testTimeout?: number
  /** Longer for tests whose hooks start and stop servers. */
  hookTimeout?: number
  globalSetup?: string
  /** How many files run at a time; default: one less than there are processors. */
  maxWorkers?: number
}

const project = (name: string, test: ProjectTests) => ({
  resolve: { alias },
  test: { name, ...test },
})

export default defineConfig({
  test: {
    projects: [
      // These tests never wait in real time, but they compute, and the machine may be busy.
      project("unit", {
        include: ["src/**/*.test.ts", "test/*.test.ts", "bench/*.test.ts"],
        exclude: ["test/package.test.ts", onPostgres],
        testTimeout: 30_000,
      }),
      project("postgres", {
        include: [onPostgres, "test/postgres/**/*.test.ts"],
        testTimeout: long ? 3_600_000 : 300_000,
        hookTimeout: 60_000,
        globalSetup: "tools/postgres/vitest-setup.ts",
        maxWorkers: postgresServers,
      }),
      project("simulation", { include: ["test/simulation/**/*.test.ts"], testTimeout: long ? 3_600_000 : 300_000 }),
      project("journals", { include: ["test/journals/**/*.test.ts"] }),
      project("crash", { include: ["test/crash/**/*.test.ts"], exclude: [chaos], testTimeout: long ? 3_600_000 : 240_000, hookTimeout: 60_000 }),
      project("chaos", { include: [chaos] }),
      // These tests compare times, so they run alone, and only in `npm run test:long`.
      project("scale", { include: ["test/scale/*.test.ts"], testTimeout: 600_000 }),
      project("cli", { include: ["test/cli/**/*.test.ts"], testTimeout: 60_000 }),
      project("worker", { include: ["test/worker/**/*.test.ts"], testTimeout: 120_000 }),
      project("side-by-side", { include: ["test/side-by-side/**/*.test.ts"], testTimeout: 30_000, hookTimeout: 180_000 }),
      project("package", { include: ["test/package.test.ts"], testTimeout: 240_000 }),
    ],
  },
})
