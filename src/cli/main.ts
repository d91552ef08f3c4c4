#!/usr/bin/env node
// The command line. Only this file touches the process itself; everything else goes through `Io`.

import { exitCodes } from "./exit-code.ts"
import { Interruption, type Io } from "./io.ts"
import { run } from "./run.ts"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(`error OLD_NODE: perdure needs Node 22.13 or later, and this is ${process.versions.node}\n`)
  process.exit(exitCodes.failed)
}

const interrupt = new AbortController()

const onSignal = (exitCode: number) => {
  // Whoever presses it again does not want to wait for a clean end.
  if (interrupt.signal.aborted) process.exit(exitCode)
  interrupt.abort(new Interruption(exitCode))
}
process.on("SIGINT", () => onSignal(exitCodes.interrupted))
process.on("SIGTERM", () => onSignal(exitCodes.terminated))

// Older Nodes call their SQLite experimental, in two lines before every answer; whoever uses the CLI can do nothing about it.
process.removeAllListeners("warning")
process.on("warning", ({ name, message }) => {
  if (name !== "ExperimentalWarning") process.stderr.write(`${name}: ${message}\n`)
})

// `perdure list --all | head` has seen enough, and that is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error
    interrupt.abort(new Interruption(exitCodes.ok))
  })
}

const io: Io = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  signal: interrupt.signal,
  now: () => Date.now(),
}

process.exitCode = await run(process.argv.slice(2), io)

// A module of the user's may hold the process open for ever. What is printed is let through, then it ends.
setInterval(() => {
  if (process.stdout.writableLength === 0 && process.stderr.writableLength === 0) process.exit()
}, 100).unref()
