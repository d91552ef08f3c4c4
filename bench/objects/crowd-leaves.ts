/**
 * Idle objects leave memory after ten seconds. A crowd of objects in memory halves the speed of the next crowd, and closing their
 * databases takes time from the next measurement. So a crowd waits until the crowd before it has left memory.
 */
export const crowdLeavesMs = 13_000
