export { runActivities } from "./http-client/activity-runner.ts"
export { connect } from "./http-client/connect.ts"
export {
  CancelledError,
  ChildFailedError,
  EventTimeoutError,
  NonRetryableError,
  PerdureError,
  ResultTimeoutError,
  StepFailedError,
  TerminatedError,
} from "./core/errors.ts"
export type { ActivityRunner, ActivityRunnerOptions } from "./http-client/activity-runner.ts"
export type { RemoteClient } from "./http-client/remote-client.ts"
export type { ConnectOptions } from "./http-client/transport.ts"
export type { Change, ChangeData, ChangeError, ChangeType } from "./core/journal/change.ts"
export type { ErrorCode } from "./core/errors.ts"
export type { ChangeIterator, Changes, Client, Handle } from "./client-api/client-api.ts"
