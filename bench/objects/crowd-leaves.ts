/**
 * Objects that nobody asks leave memory after ten seconds. A crowd of them that is still there halves the speed of the next one, and to close all their
 * databases takes the time of whoever is measured meanwhile: so crowds wait until the one before has left.
 */
export const crowdLeavesMs = 13_000
