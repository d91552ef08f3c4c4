/** Settings of the engines of a simulation. */
export const leaseMs = 3_000
export const cancelGraceMs = 8_000

export const options = { lease: leaseMs, sweep: 1_000, cancelGrace: cancelGraceMs, replayGrace: 2_000, retry: { initialInterval: 200, jitter: 0 } }
