import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

/**
 * The address of the server of `perdure dev`, for other calls of the CLI in the same project: `.perdure/dev.json` in the folder of the project. The file
 * counts only while the process that wrote it lives.
 */
export interface DevNote {
  readonly url: string
  /** The database on which the server executes workflows. */
  readonly db: string
  readonly pid: number
}

const folderName = ".perdure"
const fileName = "dev.json"

export function writeDevNote(project: string, note: DevNote): void {
  const folder = join(project, folderName)
  mkdirSync(folder, { recursive: true })
  // The content of the folder concerns this machine only.
  writeFileSync(join(folder, ".gitignore"), "*\n")
  const draft = join(folder, `${fileName}.${note.pid}`)
  writeFileSync(draft, `${JSON.stringify(note)}\n`)
  renameSync(draft, join(folder, fileName))
}

/** Removes the note of this process. Another process may have replaced it since, and keeps its note. */
export function removeDevNote(project: string, pid: number): void {
  const folder = join(project, folderName)
  const file = join(folder, fileName)
  if (readNote(file)?.pid !== pid) return
  rmSync(file, { force: true })
  // The folder is removed too, unless it contains another file.
  if (readdirSync(folder).every((name) => name === ".gitignore")) rmSync(folder, { recursive: true, force: true })
}

/** The note of a running server, in this folder or in the nearest folder above it that has one. */
export function findDevNote(cwd: string): (DevNote & { readonly project: string; readonly file: string }) | undefined {
  for (let project = resolve(cwd); ; project = dirname(project)) {
    const file = join(project, folderName, fileName)
    const note = existsSync(file) ? readNote(file) : undefined
    if (note && isAlive(note.pid)) return { ...note, project, file }
    if (dirname(project) === project) return undefined
  }
}

/** Undefined for a file that is no note, or that names a server of another machine. */
function readNote(file: string): DevNote | undefined {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(file, "utf8"))
  } catch {
    // The file was removed meanwhile, or another program wrote it.
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
