import { existsSync, type FSWatcher, readdirSync, statSync, watch } from "node:fs"
import { basename, dirname, extname, join } from "node:path"

const codeExtensions = new Set([".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"])
/** An editor or git changes several files at once, which are announced together. */
const settleMs = 100

export interface FileWatchListener {
  /** One path stands for all changes that came together. */
  onChange(path: string): void
  /** The system refuses to watch a folder, as when too many folders are watched already. Told once. */
  onUnwatched(folder: string, error: Error): void
}

interface FolderWatcher {
  readonly watcher: FSWatcher
  readonly identity: string | undefined
}

/**
 * Announces each change of a file of code below a folder. It watches one folder at a time and leaves out `node_modules` and hidden folders, because a recursive
 * watch would observe all of them.
 */
export class FileWatch {
  readonly #listener: FileWatchListener
  readonly #watchers = new Map<string, FolderWatcher>()
  #timer: NodeJS.Timeout | undefined
  readonly #alsoFiles: ReadonlySet<string>
  #hasFailed = false

  /** `alsoFiles` are files that hold no code, but are announced too. */
  constructor(root: string, listener: FileWatchListener, alsoFiles: readonly string[] = []) {
    this.#listener = listener
    this.#alsoFiles = new Set(alsoFiles)
    this.#watch(root)
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const { watcher } of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #watch(folder: string): void {
    if (this.#watchers.has(folder)) return
    try {
      const watcher = watch(folder, (_, name) => name !== null && this.#onEvent(folder, join(folder, name)))
      watcher.on("error", () => this.#unwatch(folder))
      this.#watchers.set(folder, { watcher, identity: identityOf(folder) })
      for (const entry of readdirSync(folder, { withFileTypes: true })) if (entry.isDirectory() && isWatched(entry.name)) this.#watch(join(folder, entry.name))
    } catch (error) {
      this.#unwatch(folder)
      // A folder may be deleted while its content is read.
      if (existsSync(folder)) this.#reportFailure(folder, error as Error)
    }
  }

  #unwatch(folder: string): void {
    for (const [watched, { watcher }] of this.#watchers) {
      if (watched !== folder && !watched.startsWith(join(folder, "/"))) continue
      watcher.close()
      this.#watchers.delete(watched)
    }
  }

  #onEvent(folder: string, path: string): void {
    if (codeExtensions.has(extname(path)) || this.#alsoFiles.has(path)) return this.#announce(path)
    if (!isWatched(basename(path)) || path === folder) return
    const watched = this.#watchers.get(path)
    const identity = identityOf(path)
    // The watcher of a folder that was deleted and made again reports nothing about the new folder.
    if (watched?.identity === identity) return
    if (watched) this.#unwatch(path)
    if (identity !== undefined) this.#watch(path)
    this.#announce(path)
  }

  #announce(path: string): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#listener.onChange(path), settleMs)
  }

  #reportFailure(folder: string, error: Error): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#listener.onUnwatched(folder, error)
  }
}

function isWatched(name: string): boolean {
  return name !== "node_modules" && !name.startsWith(".")
}

/** What tells a folder from an earlier one at the same path; undefined if there is no folder. A new folder may get the inode of the earlier one. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found?.isDirectory() ? `${found.ino} ${found.birthtimeMs}` : undefined
}

/** The nearest folder above a file that has a package.json. */
export function projectFolder(file: string): string {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder
    if (dirname(folder) === folder) return dirname(file)
  }
}
