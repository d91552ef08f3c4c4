/** Root may write everything, so permissions are tried out as somebody else. */
export async function unprivileged(run: () => Promise<void>): Promise<void> {
  const root = process.geteuid?.() === 0
  if (root) process.seteuid?.(65534)
  try {
    await run()
  } finally {
    if (root) process.seteuid?.(0)
  }
}
