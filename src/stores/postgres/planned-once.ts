/**
 * For functions. Their statements are planned once per connection: planning takes longer than to execute one of them for a single turn. So
 * rows are found by indexes only, whatever the planner thought of a table that was small when it looked.
 */
export const byIndex = "SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off"
