import { fileURLToPath } from "node:url"
import { Command } from "commander"
import type { Io } from "./io.ts"
import { isColourful, styleOf } from "./output/style.ts"

const exitCodeHelp = `
Exit codes: 0 done · 1 it failed, or the answer is no · 2 wrong use
            3 not found · 4 database or server cannot be used
            5 not yet · 6 stalled · 130 interrupted

Without --db, --url or --profile: PERDURE_DB or PERDURE_URL, the profile of perdure.config.json, a running perdure dev, ./perdure.db, http://127.0.0.1:8787`

/** The program without its commands. */
export function createProgram(io: Io): Command {
  const style = styleOf(isColourful(io, io.stdout))
  const width = () => io.stdout.columns ?? 100
  const program = new Command("perdure")
  program
    .description("Durable workflows: see what they do, and act on them.")
    .usage("<command> [options]")
    .option("--db <file>", "the SQLite file that your program opens, or the address of a PostgreSQL database")
    .option("--url <url>", "the address of a server")
    .option("--token <token>", "what the server wants to see; better in PERDURE_TOKEN, where other users cannot read it")
    .option("--profile <name>", "a database or server by its name in perdure.config.json")
    .option("--json", "JSON for programs: one document, or one on each line where there may be many")
    .option("--debug", "show where an error comes from")
    .helpOption("-h, --help", "show help")
    .addHelpText("after", exitCodeHelp)
    .exitOverride()
    .configureOutput({
      // Commander does not wrap text that is added to a help text.
      writeOut: (text) => io.stdout.write(program.createHelp().boxWrap(text, width())),
      writeErr: (text) => io.stderr.write(text),
      // `run` reports errors once.
      outputError: () => undefined,
      getOutHelpWidth: width,
      getOutHasColors: () => isColourful(io, io.stdout),
    })
    .configureHelp({ showGlobalOptions: true, styleTitle: (title) => style.bold(title) })
    .showSuggestionAfterError(true)
  return program
}

/** The version of the package. */
export async function versionText(): Promise<string> {
  const { readFile } = await import("node:fs/promises")
  const manifest = JSON.parse(await readFile(fileURLToPath(import.meta.resolve("perdure/package.json")), "utf8")) as { readonly version: string }
  return manifest.version
}
