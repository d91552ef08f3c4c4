// Turns paths of test files into suites: `npm test -- src/core/time/duration.test.ts`. Vitest finds the project of a file by the patterns in `vitest.config.ts`.

import { existsSync, readdirSync, statSync } from "node:fs"
import { basename, dirname, join, relative, resolve, sep } from "node:path"
import { fileURLToPath } from "node:url"
import type { Suite } from "./suites.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const workerdFolder = "test/workerd/"

/** `folder` is where the user is. Throws with a sentence for the user where a path leads to no test. */
export function suitesOfPaths(paths: readonly string[], folder: string, namePattern?: string): readonly Suite[] {
  const files = [...new Set(paths.flatMap((path) => testFilesOf(path, folder)))]
  const inWorkerd = files.filter((file) => file.startsWith(workerdFolder)).map((file) => file.slice(workerdFolder.length))
  const onNode = files.filter((file) => !file.startsWith(workerdFolder))
  const options = namePattern === undefined ? [] : ["-t", quoted(namePattern)]

  const suites: Suite[] = []
  if (onNode.length > 0) {
    // As in the suites: files that kill processes in real time run one at a time, and some of them use the built package.
    const killsProcesses = onNode.some((file) => file.startsWith("test/crash/"))
    const serially = killsProcesses ? ["--no-file-parallelism"] : []
    const build = killsProcesses || onNode.includes("test/package.test.ts") ? ["npm run --silent build"] : []
    const command = ["vitest run", ...serially, ...options, ...onNode.map((file) => quoted(join(root, file)))].join(" ")
    suites.push({ name: "files", commands: [...build, command], long: true })
  }
  if (inWorkerd.length > 0) {
    const command = ["npm test --silent --workspace @perdure/workerd-tests --", ...options, ...inWorkerd.map(quoted)].join(" ")
    // Its configuration leaves out the folder `long` otherwise.
    const env = inWorkerd.some((file) => file.startsWith("long/")) ? { LONG: "1" } : {}
    suites.push({ name: "workerd files", commands: [command], env, long: true })
  }
  return suites
}

function testFilesOf(path: string, folder: string): readonly string[] {
  const absolute = [resolve(folder, path), resolve(root, path)].find((candidate) => existsSync(candidate))
  if (absolute === undefined) throw new Error(`${path} is neither a suite nor a file`)
  const file = relative(root, absolute).split(sep).join("/")
  if (statSync(absolute).isDirectory()) {
    const below = readdirSync(absolute, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".test.ts") && !name.includes("node_modules"))
      .map((name) => relative(root, join(absolute, name)).split(sep).join("/"))
    if (below.length === 0) throw new Error(`no test file is in the folder ${file}`)
    return below.sort()
  }
  if (file.endsWith(".test.ts")) return [file]
  if (file.endsWith(".test-d.ts")) throw new Error(`${file} is a test of types: \`npm run typecheck\` checks it`)
  const beside = file.replace(/\.\w+$/, ".test.ts")
  const advice = existsSync(join(root, beside)) ? `; its tests are in ${beside}` : ` (there is no ${basename(beside)} in ${dirname(file)} either)`
  throw new Error(`${file} is not a test file: the name of a test file ends in .test.ts${advice}`)
}

/** For a POSIX shell, and for cmd.exe where there is nothing to quote. */
function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
