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
 * Where nothing is declared (`unknown`), any name and any arguments compile.
 */

type Functions<H, Kind extends string> = H extends { readonly [K in Kind]: infer F } ? F : unknown
/** Of any number of arguments, whatever they are. */
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
/** A handler that is set for a name: of the declared type, or of any, with the arguments that it says. */
type HandlerIn<F, Name, Args extends readonly unknown[], Answer> = unknown extends F ? (...args: Args) => unknown : (...args: ArgumentsIn<F, Name>) => Answer

export type QueryName<H> = NameIn<Functions<H, "queries">>
export type QueryArguments<H, Name> = ArgumentsIn<Functions<H, "queries">, Name>
/** `Untyped`: what the caller says that the answer is, where no queries are declared. */
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
/** A step by its name, or by its id: one of several of a name, or one inside another. */
export type StepReference<H> = StepName<H> | (string extends StepName<H> ? string : `${StepName<H>}#${number}` | `${StepName<H>}/${string}`)
