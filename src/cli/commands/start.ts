import { type Command, Option } from "commander"
import { collect, duration, jsonArgument, wholeNumber } from "../option-parsers.ts"
import { refuseOpenValue } from "../hidden-values.ts"
import type { Invocation } from "../invocation.ts"
import { awaitEnd, printOutcome } from "../outcome.ts"
import { noteWorker } from "../target/worker-banner.ts"
import { knownWorkflow } from "../user-code/workflow-reference.ts"

export function addStart(program: Command, cli: Invocation): void {
  program
    .command("start")
    .argument("<workflow>", "its name")
    .argument("[input]", "as JSON; - reads it from stdin")
    .option("-f, --input-file <file>", "read the input from a JSON file")
    .option("--id <id>", "of the instance; default: a random one")
    .option("--version <version>", "of the workflow; default: the newest")
    .option("--allow-unknown", "also a version that no process knows yet: the instance waits for a worker that has it")
    .option("--delay <duration>", "start later, such as 5m", duration("--delay"))
    .option("--start-at <time>", "start at a time (ISO 8601)")
    .option("--timeout <duration>", "of the whole instance", duration("--timeout"))
    .option("-t, --tag <tag>", "a tag to find it by; may be repeated", collect)
    .option("--priority <n>", "higher first among those that wait", wholeNumber("--priority", -1_000_000))
    .option("-q, --queue <name>", "the task queue whose workers execute it")
    .addOption(new Option("--if-exists <what>", "what an id that is taken means").choices(["error", "return"]))
    .option("--wait", "follow it to its end, and print the result")
    .action(async (workflow: string, text: string | undefined, options: StartFlags) => {
      const input = await jsonArgument("the input", { text, file: options.inputFile }, cli.io)
      const open = await cli.openClient({ isPatient: options.wait === true })
      const { version, queue: taskQueue, instance } = await knownWorkflow(open, workflow, options)
      if (instance !== undefined && input !== undefined) refuseOpenValue(open, input, (await open.client.describe(instance)).input)
      const { id, allowUnknown, delay, startAt, timeout, tag: tags, priority, ifExists } = options
      const wanted = { id, version, allowUnknown, delay, startAt, timeout, tags, priority, taskQueue, ifExists }
      const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined))
      const handle = await open.client.start(workflow, { ...given, ...(input === undefined ? undefined : { input }) })
      if (options.wait !== true) {
        cli.print({ id: handle.id, workflow, ...(version === undefined ? undefined : { version }) }, () => `${handle.id}\n`)
        return noteWorker(cli, open)
      }
      cli.note(`started ${handle.id}`)
      await noteWorker(cli, open)
      printOutcome(cli, await awaitEnd(open.client, handle.id, "unlimited"))
    })
}

interface StartFlags {
  readonly inputFile?: string
  readonly id?: string
  readonly version?: string
  readonly allowUnknown?: boolean
  readonly delay?: number
  readonly startAt?: string
  readonly timeout?: number
  readonly tag?: readonly string[]
  readonly priority?: number
  readonly queue?: string
  readonly ifExists?: "error" | "return"
  readonly wait?: boolean
}
