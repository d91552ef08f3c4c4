import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Folders } from "./workload.ts"

/** Creates folders below one temporary folder, and deletes all of them at the end. */
export class TemporaryFolders implements Folders, Disposable {
  readonly root: string
  #count = 0

  constructor(parent: string = tmpdir()) {
    mkdirSync(parent, { recursive: true })
    this.root = mkdtempSync(join(parent, "perdure-bench-"))
  }

  create(): string {
    const path = join(this.root, String(++this.#count))
    mkdirSync(path)
    return path
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
