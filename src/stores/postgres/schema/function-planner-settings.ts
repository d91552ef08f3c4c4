/**
 * Settings of functions that find rows by indexes only. Statements of a function are planned once per connection, because planning takes longer than executing
 * one of them for a single turn. So no plan may depend on how large the planner took a table to be. A statement that joins a table with its arguments must say
 * that the arguments come first: by LATERAL with OFFSET 0, or with a list of the rows' keys. A planner that takes a table for empty would begin with the table.
 */
export const byIndex = ["SET plan_cache_mode = force_generic_plan", ...["seqscan", "hashjoin", "mergejoin"].map((method) => `SET enable_${method} = off`)].join(
  " ",
)

/**
 * Settings of functions that join rows of a table, found by a list of their keys, with arguments. A hash join reads the arguments once; a nested loop would
 * read all of them for each row. PostgreSQL before version 18 gives a statement that needs a nested loop anyway a huge cost, and would compile it
 * each time: so compilation is off.
 */
export const byHash = `${byIndex} SET enable_hashjoin = on SET enable_nestloop = off SET jit = off`
