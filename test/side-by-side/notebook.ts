// What the code of the programs did outside of the engine, in order: calls of a callback, and what it was given. A workflow's code, its steps and the drivers
// share one process or one isolate on each host, so plain lists hold it.

const notes = new Map<string, string[]>()

/** `workflow` is the name of the class that notes. */
export function note(workflow: string, line: string): void {
  const lines = notes.get(workflow)
  if (lines) lines.push(line)
  else notes.set(workflow, [line])
}

export function notesOf(workflow: string): readonly string[] {
  return notes.get(workflow) ?? []
}
