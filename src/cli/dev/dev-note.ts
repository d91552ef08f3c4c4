import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

/**
 * Where the server of `perdure dev` is, for other calls of the CLI in the same project: `.perdure/dev.json` in the folder of the project. The file counts only
 * while the process that wrote it lives.
 */
export interface DevNote {
  readonly url: string
  /** The database that the server executes on. */
  readonly db: string
  readonly pid: number
}

const folderName = ".perdure"
const fileName = "dev.json"

export function writeDevNote(project: string, note: DevNote): void {
  const folder = join(project, folderName)
  mkdirSync(folder, { recursive: true })
  // What is in the folder is of this machine only.
  writeFileSync(join(folder, ".gitignore"), "*\n")
  const draft = join(folder, `${fileName}.${note.pid}`)
  writeFileSync(draft, `${JSON.stringify(note)}\n`)
  renameSync(draft, join(folder, fileName))
}

/** Removes what this process wrote; another one may have written since. */
export function removeDevNote(project: string, pid: number): void {
  const folder = join(project, folderName)
  const file = join(folder, fileName)
  if (readNote(file)?.pid !== pid) return
  rmSync(file, { force: true })
  // The folder goes too, unless somebody keeps something else in it.
  if (readdirSync(folder).every((name) => name === ".gitignore")) rmSync(folder, { recursive: true, force: true })
}

/** The note of a server that runs, in this folder or the nearest above it that has one. */
export function findDevNote(cwd: string): (DevNote & { readonly project: string; readonly file: string }) | undefined {
  for (let project = resolve(cwd); ; project = dirname(project)) {
    const file = join(project, folderName, fileName)
    const note = existsSync(file) ? readNote(file) : undefined
    if (note && isAlive(note.pid)) return { ...note, project, file }
    if (dirname(project) === project) return undefined
  }
}

/** Undefined for a file that is not such a note, or names a server of another machine. */
function readNote(file: string): DevNote | undefined {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(file, "utf8"))
  } catch {
    // It went away meanwhile, or somebody else wrote it.
    return undefined
  }
  const { url, db, pid } = Object(content) as Partial<DevNote>
  if (typeof url !== "string" || typeof db !== "string" || !Number.isSafeInteger(pid) || !isLocal(url)) return undefined
  return { url, db, pid: pid as number }
}

function isLocal(url: string): boolean {
  return URL.canParse(url) && ["127.0.0.1", "localhost", "[::1]"].includes(new URL(url).hostname)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}
