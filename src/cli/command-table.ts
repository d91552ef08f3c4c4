import type { Command } from "commander"
import type { Invocation } from "./invocation.ts"

/**
 * Every command is a line of this table and a file `commands/<name>.ts`, which exports a function that adds the command to the
 * program. Its action gets what it needs from the `Invocation`: `openClient()`, `print(document, text)`, `note(text)`, `exitCode`;
 * what goes wrong it throws (`PerdureError`, `CommandError`, `usageError`).
 */

/** Adds a command, with its options and what it does, to the program. */
export type AddCommand = (program: Command, cli: Invocation) => void

export interface CommandEntry {
  readonly name: string
  readonly summary: string
  /** The heading under which help lists it. */
  readonly group: "Instances" | "Control" | "Schedules and limits" | "Operations" | "More"
  /** The code of a command is loaded only when it is called for, so that the others cost nothing. */
  readonly load: () => Promise<AddCommand>
}

/** All commands, in the order in which help lists them. */
export const commandTable: readonly CommandEntry[] = [
  { name: "list", group: "Instances", summary: "list instances", load: async () => (await import("./commands/list.ts")).addList },
]
