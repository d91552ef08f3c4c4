import { Argument, type Command } from "commander"
import { silentLogger } from "../../hosts/silent-logger.ts"
import { completionScripts } from "../completion-scripts.ts"
import { complete, type Completion, type NameKind, splitLine } from "../completion.ts"
import type { Invocation } from "../invocation.ts"
import { openClient } from "../target/open-client.ts"
import { profileNames } from "../target/profile.ts"
import { resolveTarget } from "../target/target.ts"

const shells = Object.keys(completionScripts) as (keyof typeof completionScripts)[]
const namesMax = 100

export function addCompletion(program: Command, cli: Invocation): void {
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "which shell").choices(shells))
    .addHelpText("after", "\nbash: put  source <(perdure completion bash)  into ~/.bashrc")
    .action((shell: (typeof shells)[number]) => cli.write(completionScripts[shell]))
}

/** Adds the hidden command that the completion scripts call. It prints one candidate a line, followed by a tab and a description. */
export function addComplete(program: Command, cli: Invocation): void {
  program
    .command("complete", { hidden: true })
    .argument("[words...]", "after perdure, the last is being typed")
    .option("--line <line>", "the whole line up to the cursor")
    .action(async (given: readonly string[], { line }: { readonly line?: string }) => {
      const words = line === undefined ? given : splitLine(line).slice(1)
      const completion = complete(await cli.programFor(words), words)
      for (const reply of await replies(cli, completion)) cli.write(`${reply}\n`)
    })
}

async function replies(cli: Invocation, completion: Completion): Promise<readonly string[]> {
  switch (completion.kind) {
    case "files":
      return [":files"]
    case "words":
      return completion.words.map(({ word, about }) => `${word}\t${about}`)
    case "names":
      // A failure offers no candidates: an error message would disturb the line that the user types.
      return (await names(cli, completion).catch(() => [])).filter((name) => name.startsWith(completion.prefix))
  }
}

async function names(cli: Invocation, { of, prefix, globals }: Extract<Completion, { kind: "names" }>): Promise<readonly string[]> {
  if (of === "profiles") return profileNames(cli.io)
  const open = await openClient(resolveTarget(globals, cli.io), silentLogger)
  cli.onClose(() => open.close())
  const { client } = open
  const lists: Record<Exclude<NameKind, "profiles">, () => Promise<readonly string[]>> = {
    instances: async () =>
      (await client.list({ limit: namesMax, ...(prefix === "" ? undefined : { idPrefix: prefix }) })).instances.map(
        ({ id, workflow, status }) => `${id}\t${workflow}, ${status}`,
      ),
    schedules: async () => (await client.schedules.list({ limit: 1_000 })).schedules.map(({ id, times }) => `${id}\t${times}`),
    queues: async () => (await client.queues()).map(({ queue, waiting }) => `${queue}\t${waiting} waiting`),
    workflows: async () => Object.keys(await client.count({}, "workflow")),
  }
  return lists[of]()
}
