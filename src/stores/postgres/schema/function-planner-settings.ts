/**
 * For functions. Their statements are planned once per connection: planning takes longer than to execute one of them for a single turn. So
 * rows are found by indexes only, whatever the planner thought of a table that was small when it looked. And where a table is joined with what
 * was given, it is told that the given comes first, by LATERAL with OFFSET 0, or the rows are bounded by a list of their keys as well: a
 * planner that takes a table for empty would begin with that.
 */
export const byIndex = ["SET plan_cache_mode = force_generic_plan", ...["seqscan", "hashjoin", "mergejoin"].map((way) => `SET enable_${way} = off`)].join(" ")

/**
 * The same where rows of a table, bounded by a list of their keys, are joined with what was given: that is read once, and found by a hash. Looked through for
 * each row, it would be read as often as there are rows. What cannot do without a loop costs a fortune in the eyes of PostgreSQL before its version 18,
 * which would be a reason to compile it, each time anew.
 */
export const byHash = `${byIndex} SET enable_hashjoin = on SET enable_nestloop = off SET jit = off`
