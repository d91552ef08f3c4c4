/**
 * The types of queries and updates, and the names of steps, as the third argument of `Context` declares them:
 *
 *     interface Basket {
 *       steps: "reserve" | "ship"
 *       queries: { items(from?: number): string[] }
 *       updates: { add(item: string): number }
 *     }
 *     workflow("basket", async (ctx: Context<Events, void, Basket>) => …)
 *
 * If nothing is declared (`unknown`), any name and any arguments compile.
 */

type Functions<H, Kind extends string> = H extends { readonly [K in Kind]: infer F } ? F : unknown
/** A function with any arguments. */
type AnyFunction = (...args: never[]) => unknown

type NameIn<F> = unknown extends F ? string : keyof F & string
type ArgumentsIn<F, Name> = unknown extends F ? readonly unknown[] : Name extends keyof F ? (F[Name] extends AnyFunction ? Parameters<F[Name]> : never) : never
type AnswerIn<F, Name, Untyped> = unknown extends F
  ? Untyped
  : Name extends keyof F
    ? F[Name] extends AnyFunction
      ? Awaited<ReturnType<F[Name]>>
      : never
    : never
/** The type of a handler for a name: the declared type, or any function if nothing is declared. */
type HandlerIn<F, Name, Args extends readonly unknown[], Answer> = unknown extends F ? (...args: Args) => unknown : (...args: ArgumentsIn<F, Name>) => Answer

export type QueryName<H> = NameIn<Functions<H, "queries">>
export type QueryArguments<H, Name> = ArgumentsIn<Functions<H, "queries">, Name>
/** The answer of a query. `Untyped` is the caller's type for it, if no queries are declared. */
export type QueryAnswer<H, Name, Untyped = unknown> = AnswerIn<Functions<H, "queries">, Name, Untyped>
export type QueryHandlerOf<H, Name, Args extends readonly unknown[]> = HandlerIn<Functions<H, "queries">, Name, Args, QueryAnswer<H, Name>>

export type UpdateName<H> = NameIn<Functions<H, "updates">>
export type UpdateArguments<H, Name, Args extends readonly unknown[] = readonly unknown[]> =
  unknown extends Functions<H, "updates"> ? Args : ArgumentsIn<Functions<H, "updates">, Name>
export type UpdateAnswer<H, Name, Untyped = unknown> = AnswerIn<Functions<H, "updates">, Name, Untyped>
export type UpdateHandlerOf<H, Name, Args extends readonly unknown[]> = HandlerIn<
  Functions<H, "updates">,
  Name,
  Args,
  UpdateAnswer<H, Name> | Promise<UpdateAnswer<H, Name>>
>

/** The names that `ctx.do` and `ctx.transaction` take. */
export type StepName<H> = H extends { readonly steps: infer S extends string } ? S : string
/** A step by its name, or by its id if several steps have the name or the step is inside another step. */
export type StepReference<H> = StepName<H> | (string extends StepName<H> ? string : `${StepName<H>}#${number}` | `${StepName<H>}/${string}`)
