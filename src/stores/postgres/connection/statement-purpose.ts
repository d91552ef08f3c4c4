/** The purpose of each statement, by its name, in words that an error message can use after "while". */
const purposes: Readonly<Record<string, string>> = {
  claim: "claiming instances",
  deliver: "delivering messages",
  get: "looking up an instance",
  "give-up": "giving instances back",
  inbox: "reading messages",
  journal: "reading a journal",
  journals: "reading journals",
  list: "listing or counting instances",
  meta: "looking for perdure's tables",
  "next-due": "asking what is due next",
  now: "asking for the time",
  owned: "comparing what it owns",
  release: "giving instances back",
  remove: "removing instances",
  renew: "renewing its lease",
  statuses: "looking up whether instances have ended",
  "task-announce": "announcing which tasks it claims",
  "task-claim": "claiming tasks",
  "task-expire": "ending tasks whose time is over",
  "task-find": "looking up tasks",
  "task-finish": "ending tasks",
  "task-keep": "renewing claims of tasks",
  "task-workers": "listing the processes that claim tasks",
  unread: "looking for messages",
  version: "reading the schema's version",
  write: "committing turns",
}

export const commitStatement = "commit of a transaction"

/** What the store was doing when it last sent a statement of that name. Undefined: there was no connection. */
export function purposeOf(statement: string | undefined): string {
  if (statement === undefined) return "connecting"
  if (statement === commitStatement) return "committing a transaction"
  // The part before a dot is a variant of the statement.
  return purposes[statement.slice(statement.lastIndexOf(".") + 1)] ?? `executing "${statement}"`
}
