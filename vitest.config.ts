import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

// Longer names first: an alias also matches what follows it after a slash.
const alias = [
  { find: "perdure/sqlite", replacement: source("./src/sqlite.ts") },
  { find: "perdure/testing", replacement: source("./src/testing.ts") },
  { find: "perdure", replacement: source("./src/index.ts") },
]

const project = (name: string, include: readonly string[], exclude: readonly string[] = []) => ({
  resolve: { alias },
  test: { name, include: [...include], exclude: ["**/node_modules/**", ...exclude] },
})

export default defineConfig({
  test: {
    projects: [
      project("unit", ["src/**/*.test.ts", "test/*.test.ts"], ["test/package.test.ts"]),
      project("simulation", ["test/simulation/**/*.test.ts"]),
      project("journals", ["test/journals/**/*.test.ts"]),
      project("crash", ["test/crash/**/*.test.ts"]),
      project("package", ["test/package.test.ts"]),
    ],
  },
})
