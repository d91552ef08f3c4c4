/** Values that an untyped caller may pass where a store expects one of a few words. Some of them are SQL for each of the databases. */
export const hostileWords: readonly (readonly [name: string, word: unknown])[] = [
  ["another column", "id"],
  ["a word of a prototype", "constructor"],
  ["an expression", "status, (SELECT count(*) FROM sqlite_master)"],
  ["a query", "workflow AS name, 1 AS count FROM perdure_instance i; DROP TABLE perdure_instance; --"],
  ["a statement", "status AS name, 1 AS count; DROP TABLE tag CASCADE; SELECT i.status FROM instance i --"],
  ["an empty text", ""],
  ["U+0000", "status\0"],
  ["nothing", undefined],
  ["null", null],
  ["a number", 1],
  ["a list", ["status"]],
  ["an object that reads like a word", { toString: () => "status" }],
]
