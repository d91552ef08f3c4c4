/** The errors of Cloudflare Workflows, by the names and messages that its local engine gives them. */

/** Thrown by a step's callback: the step fails at once, and is not tried again. */
export class NonRetryableError extends Error {
  constructor(message: string, name = "NonRetryableError") {
    super(message)
    this.name = name
  }
}

/** A call of a binding or an instance that was refused. The message begins with the code in parentheses. */
export class WorkflowError extends Error {
  override readonly name = "WorkflowError"
}

/** An attempt or a wait took longer than its timeout. */
export class WorkflowTimeoutError extends Error {
  override readonly name = "WorkflowTimeoutError"

  constructor(timeoutMs: number) {
    super(`Execution timed out after ${timeoutMs}ms`)
  }
}

/** The program itself is wrong: no retry can help. */
export class WorkflowFatalError extends Error {
  override readonly name: string = "WorkflowFatalError"
}

/** The function that gives the delay between two attempts failed. */
export class NonRetryableDelayError extends WorkflowFatalError {
  override readonly name = "NonRetryableDelayError"
}

export function refused(code: string, message: string): WorkflowError {
  return new WorkflowError(`(${code}) ${message}`)
}

export const instanceNotFound = () => new Error("instance.not_found")
export const alreadyExists = (id: string) => refused("instance.already_exists", `Workflow instance with id "${id}" already exists`)
