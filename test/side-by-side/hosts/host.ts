import type { Program } from "../program.ts"

/** What a program showed, or why it broke. */
export type Outcome = { readonly shown: Readonly<Record<string, unknown>>; readonly failure?: never } | { readonly shown?: never; readonly failure: string }

/** An engine that runs the programs. */
export interface Host {
  run(program: Program): Promise<Outcome>
  close(): Promise<void>
}

export type HostName = "theirs" | "sqlite" | "objects"

/** Runs all programs, so many at a time. */
export async function runAll(host: Host, programs: readonly Program[], atOnce: number): Promise<ReadonlyMap<string, Outcome>> {
  const outcomes = new Map<string, Outcome>()
  const waiting = [...programs]
  const runNext = async (): Promise<void> => {
    for (let program = waiting.shift(); program; program = waiting.shift()) outcomes.set(program.title, await host.run(program))
  }
  await Promise.all(Array.from({ length: atOnce }, runNext))
  return outcomes
}
