// The declaration file must name this library: the compile target of a user may lack AsyncDisposable.
/// <reference lib="esnext.disposable" preserve="true" />

import type { InstanceStatus } from "../../dialects/cloudflare-workflows/instance-status.ts"

/** The types of `cloudflare:test` that tests of programs for Cloudflare Workflows use. */

/** A step of an instance: the `index`-th of that name, by default the first. Steps, sleeps and waits count on their own. */
export interface WorkflowStepSelector {
  /** The name that the code gives the step. */
  name: string
  /** Counts from 1. Default 1. */
  index?: number
}

/** Changes what an instance does. Changes apply to what begins after them. */
export interface WorkflowInstanceModifier {
  /** Lets these sleeps end as soon as they begin, without moving time. Default: all sleeps. */
  disableSleeps(steps?: WorkflowStepSelector[]): Promise<void>
  /** Lets these steps try again as soon as an attempt has failed. Default: all steps. */
  disableRetryDelays(steps?: WorkflowStepSelector[]): Promise<void>
  /** Gives the step a result. Its callback is not called. Throws if the step has such a result already. */
  mockStepResult(step: WorkflowStepSelector, stepResult: unknown): Promise<void>
  /** Lets the next `times` attempts that have no error or timeout yet fail with the error. Default: all attempts. Throws after `mockStepResult`. */
  mockStepError(step: WorkflowStepSelector, error: Error, times?: number): Promise<void>
  /** As `mockStepError`, but the attempts fail as if their timeout were over. */
  forceStepTimeout(step: WorkflowStepSelector, times?: number): Promise<void>
  /** Sends an event to the instance, as soon as the instance exists. */
  mockEvent(event: { type: string; payload: unknown }): Promise<void>
  /** Lets the wait time out as soon as it begins. */
  forceEventTimeout(step: WorkflowStepSelector): Promise<void>
}

/** Changes one instance, and waits for what becomes of it. Waiting moves virtual time as far as necessary. */
export interface WorkflowInstanceIntrospector {
  /** Calls the function with a modifier of the instance. */
  modify(fn: (modifier: WorkflowInstanceModifier) => Promise<void>): Promise<WorkflowInstanceIntrospector>
  /** Resolves with the result of the step. Rejects with its error if it fails, and if the instance ends without the step. */
  waitForStepResult(step: WorkflowStepSelector): Promise<unknown>
  /** Resolves when the instance has the status; `running` also stands for `waiting` and `rollingBack`. Rejects if the instance ends with another one. */
  waitForStatus(status: InstanceStatus["status"]): Promise<void>
  /** What the code returned. Rejects unless the instance is complete. */
  getOutput(): Promise<unknown>
  /** What the code threw. Rejects unless the instance is errored. */
  getError(): Promise<{ name: string; message: string }>
  /** Ends the changes, and deletes the instance. */
  dispose(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Changes all instances of a workflow that are created from now on. */
export interface WorkflowIntrospector {
  /** Calls the function with a modifier of all these instances. */
  modifyAll(fn: (modifier: WorkflowInstanceModifier) => Promise<void>): Promise<void>
  /** The instances that were created since. */
  get(): Promise<WorkflowInstanceIntrospector[]>
  /** Ends the changes, and deletes the instances that were created since. */
  dispose(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
