// The processes and folders of a run. All of them are removed when the run ends, fails, or is interrupted by Ctrl-C.

import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Running processes, with the signal that ends each of them at once. */
const running = new Map<ChildProcess, NodeJS.Signals>()
const folders = new Set<string>()

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/** Until it is disposed, a signal ends the process in good order, and the end of the process removes all processes and folders that are left. */
export function guard(): Disposable {
  const onSignal = () => process.exit(130)
  for (const signal of signals) process.on(signal, onSignal)
  process.on("exit", clear)
  return {
    [Symbol.dispose]() {
      for (const signal of signals) process.off(signal, onSignal)
      process.off("exit", clear)
      clear()
    },
  }
}

function clear(): void {
  for (const [child, signal] of running) child.kill(signal)
  running.clear()
  for (const folder of folders) remove(folder)
}

export function keep<Child extends ChildProcess>(child: Child, lastSignal: NodeJS.Signals = "SIGKILL"): Child {
  running.set(child, lastSignal)
  child.once("exit", () => running.delete(child))
  return child
}

/** Sends a signal, and kills the process after `patienceMs`. */
export async function stop(child: ChildProcess, signal: NodeJS.Signals, patienceMs = 10_000): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, "exit")
  child.kill(signal)
  const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs)
  await ended
  clearTimeout(timer)
}

/** Makes a temporary folder that other users may read, because a server may have to run as another user. */
export function temporaryFolder(parent: string = tmpdir()): string {
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, "perdure-peers-"))
  chmodSync(folder, 0o755)
  folders.add(folder)
  return folder
}

/** Removes a folder, and retries for a while: a server that has just ended may still change files in it, and `rmSync` then fails or gives up silently. */
export function remove(folder: string): void {
  for (let tries = 0; tries < 60 && existsSync(folder); tries++) {
    // This may run while the process exits, where nothing can be awaited.
    if (tries > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
    try {
      rmSync(folder, { recursive: true, force: true })
    } catch {}
  }
  folders.delete(folder)
}

export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("no port is free")
  return address.port
}
