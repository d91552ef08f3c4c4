import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Invocation } from "../invocation.ts"
import { isTypeScript, typeScriptFlags } from "./workflow-entry.ts"

/**
 * Older versions of Node load TypeScript only with an option. If the option is missing, the command runs again in a process that has it. Resolves to
 * whether it did.
 */
export async function ranWithTypes(cli: Invocation, entry: string): Promise<boolean> {
  const flags = isTypeScript(entry) ? typeScriptFlags() : []
  if (flags.length === 0 || process.execArgv.includes("--experimental-strip-types")) return false
  const [, main = fileURLToPath(new URL("./main.js", import.meta.url)), ...words] = process.argv
  const kept = process.execArgv.filter((flag) => !/^--no-(experimental-)?strip-types$/.test(flag))
  const child = spawn(process.execPath, [...kept, ...flags, main, ...words], { stdio: "inherit" })
  const ended = once(child, "exit") as Promise<[code: number | null]>
  // Ctrl-C reaches both processes, and other signals are passed on. In both cases the end of the child is awaited.
  cli.io.signal.addEventListener("abort", () => child.kill("SIGTERM"))
  cli.onClose(async () => void (await ended))
  cli.exitCode = (await ended)[0] ?? 1
  return true
}
