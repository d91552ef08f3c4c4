import type { Command } from "commander"
import type { Invocation } from "./invocation.ts"

/**
 * Every command is a line of this table and a file `commands/<name>.ts`, which exports a function that adds the command to the
 * program. The action of the command uses the `Invocation`: `openClient()`, `print(document, text)`, `note(text)`, `exitCode`.
 * An action reports a failure by throwing (`PerdureError`, `CommandError`, `usageError`).
 */

/** Adds a command with its options and its action to the program. */
export type AddCommand = (program: Command, cli: Invocation) => void

export interface CommandEntry {
  readonly name: string
  readonly summary: string
  /** The heading under which help lists it. */
  readonly group: "Instances" | "Control" | "Schedules and limits" | "Operations" | "More"
  /** Only programs call the command, and help does not list it. */
  readonly hidden?: true
  /** Loads the code of the command. Only the called command is loaded, because loading takes time. */
  readonly load: () => Promise<AddCommand>
}

/** All commands, in the order in which help lists them. */
export const commandTable: readonly CommandEntry[] = [
  { name: "start", group: "Instances", summary: "start an instance of a workflow", load: async () => (await import("./commands/start.ts")).addStart },
  { name: "list", group: "Instances", summary: "list instances", load: async () => (await import("./commands/list.ts")).addList },
  { name: "count", group: "Instances", summary: "count instances, by status or by workflow", load: async () => (await import("./commands/count.ts")).addCount },
  {
    name: "show",
    group: "Instances",
    summary: "draw an instance: its steps over time, its result",
    load: async () => (await import("./commands/show.ts")).addShow,
  },
  { name: "why", group: "Instances", summary: "say why an instance is not moving", load: async () => (await import("./commands/why.ts")).addWhy },
  { name: "history", group: "Instances", summary: "print the journal of an instance", load: async () => (await import("./commands/history.ts")).addHistory },
  { name: "tail", group: "Instances", summary: "follow what happens, live", load: async () => (await import("./commands/tail.ts")).addTail },
  { name: "result", group: "Instances", summary: "print the result of an instance", load: async () => (await import("./commands/result.ts")).addResult },
  { name: "send", group: "Instances", summary: "send an event to an instance", load: async () => (await import("./commands/send.ts")).addSend },
  { name: "query", group: "Instances", summary: "ask what an instance knows", load: async () => (await import("./commands/ask.ts")).addQuery },
  {
    name: "update",
    group: "Instances",
    summary: "ask an instance to do something, and wait for its answer",
    load: async () => (await import("./commands/ask.ts")).addUpdate,
  },
  { name: "pause", group: "Control", summary: "pause an instance", load: async () => (await import("./commands/control.ts")).addPause },
  { name: "resume", group: "Control", summary: "let a paused or stalled instance go on", load: async () => (await import("./commands/control.ts")).addResume },
  {
    name: "cancel",
    group: "Control",
    summary: "cancel an instance; its code may clean up",
    load: async () => (await import("./commands/control.ts")).addCancel,
  },
  { name: "terminate", group: "Control", summary: "end an instance at once", load: async () => (await import("./commands/control.ts")).addTerminate },
  {
    name: "restart",
    group: "Control",
    summary: "run an instance again, from the beginning or from a step",
    load: async () => (await import("./commands/control.ts")).addRestart,
  },
  {
    name: "fork",
    group: "Control",
    summary: "start another instance with what one recorded before a step",
    load: async () => (await import("./commands/control.ts")).addFork,
  },
  { name: "delete", group: "Control", summary: "delete an instance that is over", load: async () => (await import("./commands/control.ts")).addDelete },
  { name: "bulk", group: "Control", summary: "do the same to many instances", load: async () => (await import("./commands/bulk.ts")).addBulk },
  {
    name: "schedules",
    group: "Schedules and limits",
    summary: "see, create and change schedules",
    load: async () => (await import("./commands/schedules.ts")).addSchedules,
  },
  {
    name: "limits",
    group: "Schedules and limits",
    summary: "see and change the limits of a workflow",
    load: async () => (await import("./commands/limits.ts")).addLimits,
  },
  { name: "queues", group: "Operations", summary: "see task queues and their workers", load: async () => (await import("./commands/queues.ts")).addQueues },
  {
    name: "dev",
    group: "Operations",
    summary: "execute workflows, and start anew when their code changes",
    load: async () => (await import("./commands/dev.ts")).addDev,
  },
  { name: "worker", group: "Operations", summary: "execute workflows and activities", load: async () => (await import("./commands/worker.ts")).addWorker },
  {
    name: "check",
    group: "Operations",
    summary: "say which instances a change of code would stall",
    load: async () => (await import("./commands/check.ts")).addCheck,
  },
  { name: "export", group: "Operations", summary: "write instances to a file", load: async () => (await import("./commands/export.ts")).addExport },
  { name: "import", group: "Operations", summary: "read instances from a file", load: async () => (await import("./commands/import.ts")).addImport },
  { name: "backup", group: "Operations", summary: "copy the database while it is in use", load: async () => (await import("./commands/backup.ts")).addBackup },
  {
    name: "restore",
    group: "Operations",
    summary: "put a backup in the place of the database",
    load: async () => (await import("./commands/backup.ts")).addRestore,
  },
  {
    name: "migrate",
    group: "Operations",
    summary: "bring the database to the newest schema",
    load: async () => (await import("./commands/migrate.ts")).addMigrate,
  },
  { name: "doctor", group: "Operations", summary: "look for what is wrong", load: async () => (await import("./commands/doctor.ts")).addDoctor },
  { name: "init", group: "Operations", summary: "make a new project", load: async () => (await import("./commands/init.ts")).addInit },
  {
    name: "completion",
    group: "More",
    summary: "print a script that completes commands in your shell",
    load: async () => (await import("./commands/completion.ts")).addCompletion,
  },
  {
    name: "complete",
    group: "More",
    summary: "complete a command line",
    hidden: true,
    load: async () => (await import("./commands/completion.ts")).addComplete,
  },
]
