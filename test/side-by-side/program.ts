// A program is code for Cloudflare Workflows: one class or more, and a driver that uses their bindings as a Worker would. It knows nothing of the engine that
// runs it. What it shows is compared between the engines.

import type { WorkflowBinding, WorkflowEntrypointClass, WorkflowInstance, WorkflowInstanceCreateOptions } from "perdure/cloudflare-workflows"
import { notesOf } from "./notebook.ts"
import { report } from "./observation.ts"

/** What a driver may use. */
export interface Scene {
  /** The bindings of the program's classes, by the names of the classes. */
  readonly bindings: Readonly<Record<string, WorkflowBinding>>
  /** The binding of the first class. */
  readonly workflow: WorkflowBinding
  /** Creates an instance of the first class. */
  readonly start: (options?: WorkflowInstanceCreateOptions) => Promise<WorkflowInstance>
  /** What the code has noted so far. */
  readonly notes: () => readonly string[]
}

/** What a program shows: each value is compared. */
export type Observations = Readonly<Record<string, unknown>>
export type Drive = (scene: Scene) => Promise<Observations>

export interface Program {
  /** What the program shows, in words. No two programs have the same. */
  readonly title: string
  /** The classes by the names of their bindings, which are the names of the workflows, too. */
  readonly classes: Readonly<Record<string, WorkflowEntrypointClass>>
  /** The limit of `do` calls in wrangler.jsonc. */
  readonly stepLimit?: number
  readonly drive: Drive
}

export interface Feature {
  readonly title: string
  readonly programs: readonly Program[]
}

/** Creates one instance of the first class, and reports its end and its events. */
const driveOne: Drive = async ({ start }) => report(await start({ params: { word: "hello" } }))

export function program(title: string, classes: Program["classes"], drive: Drive = driveOne, options: Pick<Program, "stepLimit"> = {}): Program {
  return { title, classes, drive, ...options }
}

/** Runs the program with the bindings of one engine. */
export async function observe({ title, classes, drive }: Program, bindings: Readonly<Record<string, WorkflowBinding>>): Promise<Observations> {
  const names = Object.keys(classes)
  const own = Object.fromEntries(names.map((name) => [name, bindings[name] as WorkflowBinding]))
  const workflow = own[names[0] ?? ""] as WorkflowBinding
  const notes = () => names.flatMap((name) => notesOf(name))
  const shown = await withinSeconds(20, title, drive({ bindings: own, workflow, start: (options) => workflow.create(options), notes }))
  return notes().length === 0 ? shown : { ...shown, notes: notes() }
}

async function withinSeconds<T>(seconds: number, title: string, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`"${title}" took longer than ${seconds} seconds`)), seconds * 1_000)
  })
  return Promise.race([work, tooLong]).finally(() => clearTimeout(timer))
}
