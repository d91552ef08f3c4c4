import { existsSync, type FSWatcher, readdirSync, statSync, watch } from "node:fs"
import { dirname, extname, join } from "node:path"

const codeExtensions = new Set([".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"])
const settleMs = 100

/**
 * Tells when a file of code in a folder changes, is made or goes away. Folder by folder, leaving out what is installed and what is hidden: a
 * recursive watch would look at all of it. Several changes at once, as of an editor or of git, are told once.
 */
export class FileWatch {
  readonly #onChange: (path: string) => void
  readonly #watchers = new Map<string, FSWatcher>()
  #timer: NodeJS.Timeout | undefined

  constructor(root: string, onChange: (path: string) => void) {
    this.#onChange = onChange
    this.#add(root)
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #add(folder: string): void {
    if (this.#watchers.has(folder)) return
    try {
      const watcher = watch(folder, (_, name) => name !== null && this.#look(folder, join(folder, name)))
      watcher.on("error", () => this.#drop(folder))
      this.#watchers.set(folder, watcher)
      for (const entry of readdirSync(folder, { withFileTypes: true })) if (entry.isDirectory() && isWatched(entry.name)) this.#add(join(folder, entry.name))
    } catch {
      // It went away again.
      this.#drop(folder)
    }
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close()
    this.#watchers.delete(folder)
  }

  #look(folder: string, path: string): void {
    if (!existsSync(folder)) return this.#drop(folder)
    if (codeExtensions.has(extname(path))) return this.#tell(path)
    const name = path.slice(folder.length + 1)
    if (!isWatched(name) || !isFolder(path) || this.#watchers.has(path)) return
    this.#add(path)
    this.#tell(path)
  }

  #tell(path: string): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#onChange(path), settleMs)
  }
}

function isWatched(name: string): boolean {
  return name !== "node_modules" && !name.startsWith(".")
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** The folder of the project that a file belongs to. */
export function projectFolder(file: string): string {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder
    if (dirname(folder) === folder) return dirname(file)
  }
}
