import type { WorkflowEntrypoint, WorkflowEvent, WorkflowExecutionContext, WorkflowStep } from "perdure/cloudflare-workflows"

export interface SequenceParameters {
  readonly steps: number
}

export type SequenceClass = new (
  ctx: WorkflowExecutionContext,
  env: unknown,
) => { run(event: Readonly<WorkflowEvent<SequenceParameters>>, step: WorkflowStep): Promise<number> }

/** The workflow `sequence` (bench-workflows.ts), as a program for Cloudflare Workflows has it. The base class is that of Perdure, or that of a Worker. */
export function sequenceClass(Entrypoint: typeof WorkflowEntrypoint): SequenceClass {
  return class Sequence extends Entrypoint<unknown, SequenceParameters> {
    async run({ payload: { steps } }: Readonly<WorkflowEvent<SequenceParameters>>, step: WorkflowStep): Promise<number> {
      for (let i = 0; i < steps; i++) await step.do("step", async () => ({ i }))
      return steps
    }
  }
}
