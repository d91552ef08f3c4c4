/** What each statement is for, by its name, in words that an error can use after "while". */
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
  standings: "looking up whether instances have ended",
  unread: "looking for messages",
  version: "reading the schema's version",
  write: "committing turns",
}

export const commitStatement = "commit of a transaction"

/** What was being done when a statement of that name was the last to be sent; none: no connection came about. */
export function purposeOf(statement: string | undefined): string {
  if (statement === undefined) return "connecting"
  if (statement === commitStatement) return "committing a transaction"
  // What stands before a dot is the way in which it is done.
  return purposes[statement.slice(statement.lastIndexOf(".") + 1)] ?? `executing "${statement}"`
}
