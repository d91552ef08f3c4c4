// Our published types beside those of Cloudflare, which know neither Node nor our sources.

import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, it } from "vitest"

const root = fileURLToPath(new URL("../", import.meta.url))
const types = join(root, "test/side-by-side/types")

/** What the compiler says; empty where it finds nothing wrong. */
async function compile(...args: readonly string[]): Promise<string> {
  const running = promisify(execFile)(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...args], { cwd: root })
  return running.then(
    ({ stdout }) => stdout,
    ({ stdout }: { readonly stdout: string }) => stdout,
  )
}

it("programs with the types of @cloudflare/workers-types compile with ours, and the other way round", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-types-"))
  try {
    expect(await compile("-p", "tsconfig.build.json", "--emitDeclarationOnly", "--declaration", "--outDir", folder)).toBe("")
    const testTypes = join(root, "test/workerd/node_modules/@cloudflare/vitest-plugin/types/cloudflare-test.d.ts")
    const paths = Object.fromEntries(["cloudflare-workflows", "testing"].map((entry) => [`perdure/${entry}`, [join(folder, `${entry}.d.ts`)]]))
    const compilerOptions = { typeRoots: [join(root, "node_modules")], paths }
    const config = {
      extends: join(types, "tsconfig.json"),
      compilerOptions,
      files: [testTypes, join(types, "workers-types.test-d.ts"), join(types, "introspection.test-d.ts")],
    }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config))
    expect(await compile("-p", folder)).toBe("")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}, 60_000)
