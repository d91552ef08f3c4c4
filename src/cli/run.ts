import { type Command, CommanderError } from "commander"
import { commandTable } from "./command-table.ts"
import { type CommandError, exitCodeOf, exitCodes, usageError } from "./exit-code.ts"
import { explained, failureReport } from "./failure-report.ts"
import { type AsJson, Invocation } from "./invocation.ts"
import { Interruption, type Io } from "./io.ts"
import { createProgram, versionText } from "./program.ts"

/** Runs the CLI with the arguments after its name. Resolves to the exit code, and never rejects. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const program = createProgram(io)
  // The arguments are searched for the word, because the parsing of the options may be what fails.
  const asJson = isGiven(argv, "--json") ? (await import("./output/json.ts")).asJson : undefined
  const cli = new Invocation(io, program, asJson, async (words) => {
    const other = createProgram(io)
    await addCommands(other, cli, words)
    return other
  })
  let result: number | { readonly error: unknown }
  try {
    result = await call(program, cli, argv)
  } catch (error) {
    result = { error }
  }
  try {
    await cli.close()
  } catch (error) {
    result = { error }
  }
  if (typeof result === "number") return result
  return conclude(result.error, cli, { asJson, debug: isGiven(argv, "--debug"), help: helpOf(program, argv) })
}

function isGiven(argv: readonly string[], option: string): boolean {
  const end = argv.indexOf("--")
  return argv.slice(0, end === -1 ? undefined : end).includes(option)
}

async function call(program: Command, cli: Invocation, argv: readonly string[]): Promise<number> {
  await addCommands(program, cli, argv)
  if (!argv.some((argument) => argument.startsWith("-")) && calledCommand(program, argv) === undefined) {
    program.outputHelp()
    return exitCodes.ok
  }
  await Promise.race([program.parseAsync(asCall(program, argv), { from: "user" }), interruption(cli.io.signal)])
  return cli.exitCode
}

/** `help schedules create` is `schedules create --help`. */
function asCall(program: Command, argv: readonly string[]): string[] {
  const called = calledCommand(program, argv)
  if (argv[0] !== "help" || called === undefined) return [...argv]
  const isKnown = commandTable.some(({ name }) => name === called)
  return isKnown ? [...argv.slice(1), "--help"] : [called]
}

/** Adds the called command with its code. Other commands are added without their code, which takes time to load. */
async function addCommands(program: Command, cli: Invocation, argv: readonly string[]): Promise<void> {
  const called = calledCommand(program, argv)
  // Commands have an option `--version` of their own, which is the version of the workflow.
  if (called === undefined) program.version(await versionText(), "-V, --version", "show the version of the CLI")
  for (const { name, summary, group, hidden, load } of commandTable) {
    program.commandsGroup(`${group}:`)
    if (name === called) (await load())(program, cli)
    else program.command(name, { hidden: hidden === true })
    program.commands.at(-1)?.description(summary)
  }
  program.commandsGroup("More:").helpCommand("help [command]", "show help for a command")
}

/** Rejects when the signal is aborted. */
function interruption(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = () => reject(signal.reason instanceof Interruption ? signal.reason : new Interruption(exitCodes.interrupted))
    if (signal.aborted) give()
    else signal.addEventListener("abort", give, { once: true })
  })
}

interface Reporting {
  readonly asJson: AsJson | undefined
  readonly debug: boolean
  /** The command line that prints the help of the called command. */
  readonly help: string
}

function conclude(error: unknown, cli: Invocation, { asJson, debug, help }: Reporting): number {
  if (error instanceof Interruption) return cli.interruptedCode ?? error.exitCode
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok
  // The user called a group of commands without a command, and commander has printed the help of the group.
  if (error instanceof CommanderError && error.code === "commander.help") return exitCodes.usage
  const failure = error instanceof CommanderError ? asUsageError(error, help) : explained(error, () => cli.target)
  cli.io.stderr.write(failureReport(failure, { asJson, debug, style: cli.errorStyle }))
  return exitCodeOf(failure)
}

function asUsageError({ message }: CommanderError, help: string): CommandError {
  const text = message.replace(/^error: |\.$/g, "").replace(/\n?\(Did you mean (.*)\?\)$/s, (_, names: string) => `; did you mean ${names}?`)
  return usageError(/did you mean/.test(text) ? text : `${text}; see ${help}`)
}

function helpOf(program: Command, argv: readonly string[]): string {
  const called = calledCommand(program, argv)
  return commandTable.some(({ name }) => name === called) ? `perdure ${called} --help` : "perdure --help"
}

/** The first word that is neither an option nor the value of an option. For `help list` it is `list`. */
function calledCommand(program: Command, argv: readonly string[]): string | undefined {
  const takesValue = new Set(program.options.filter(({ required }) => required).map(({ long }) => long))
  let words: string[] = []
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? ""
    if (argument === "--") break
    if (takesValue.has(argument)) index++
    else if (!argument.startsWith("-")) words.push(argument)
  }
  if (words[0] === "help") words = words.slice(1)
  return words[0]
}
