/**
 * The services that are there when a layer is built, for what it will run later. To which span that belongs, and what is
 * written beside its logs, is for those to say who run it: the span in which a layer was built is over by then.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"

const withoutRegion = Context.omit(Tracer.ParentSpan, References.CurrentLogAnnotations, References.CurrentLogSpans)

export const capturedContext = <R>(): Effect.Effect<Context.Context<R>, never, R> =>
  Effect.map(Effect.context<R>(), (context) => withoutRegion(context) as Context.Context<R>)
