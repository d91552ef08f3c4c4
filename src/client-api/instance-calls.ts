import type { Status } from "../core/journal/status.ts"
import type { StepInfo } from "../core/journal/step-info.ts"
import type {
  Changes,
  ControlResult,
  DeleteResult,
  ForkOptions,
  HistoryOptions,
  HistoryPage,
  InstanceDescription,
  RestartOptions,
  ResultOptions,
  SendOptions,
  TerminateOptions,
  Why,
} from "./client-api.ts"

/** The calls on an instance that each client implements. Their arguments have been checked by `InstanceHandle` or `CheckedClient`. */
export interface InstanceCalls {
  result(id: string, options: ResultOptions): Promise<unknown>
  status(id: string): Promise<Status>
  describe(id: string): Promise<InstanceDescription>
  steps(id: string): Promise<readonly StepInfo[]>
  history(id: string, options: HistoryOptions): Promise<HistoryPage>
  why(id: string): Promise<Why>
  sendEvent(id: string, type: string, payload: unknown, options: SendOptions): Promise<void>
  pause(id: string, reason: string | undefined): Promise<ControlResult>
  resume(id: string): Promise<ControlResult>
  cancel(id: string, reason: string | undefined): Promise<ControlResult>
  terminate(id: string, options: TerminateOptions): Promise<ControlResult>
  restart(id: string, options: RestartOptions): Promise<ControlResult>
  /** Returns the id of the new instance. */
  fork(id: string, options: ForkOptions): Promise<string>
  query(id: string, name: string, args: readonly unknown[]): Promise<unknown>
  update(id: string, name: string, args: readonly unknown[]): Promise<unknown>
  delete(id: string): Promise<DeleteResult>
  /** The changes of one instance. An undefined id stands for all instances. */
  changes(id: string | undefined, cursor: string | undefined): Changes
}
