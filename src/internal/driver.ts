/**
 * Drives a program (program.ts). Events are delivered before each wait, so that what a wait does (a hook, a request, a
 * tool) happens after all earlier events were handed over.
 *
 * Two invariants. One fiber at a time owns the program. An abort ends every wait: at once where the wait reacts, and
 * after the grace period by taking the program over from the fiber that is stuck in it.
 */
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { EVENTS_PER_YIELD, isRepeating, type Program, type Run, type Step } from "./program.ts"
import { type Events, Rendezvous } from "./rendezvous.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Driver
// ---------------------------------------------------------------------------------------------------------------------

export interface Options<A, R> {
  readonly program: Program<A, R>
  readonly context: Context.Context<R>
  readonly gracePeriod: Duration.Input
  /** Hands events to whoever reads them, and returns when the program may go on; false ends the run there. */
  readonly deliver: (events: ReadonlyArray<A>) => Effect.Effect<boolean>
  /** Called once, when all is over. A failure is a defect of the program. */
  readonly onEnd: (exit: Exit.Exit<void>) => void
}

const interrupted = Exit.interrupt()

export class Driver<A, R> implements Run<A> {
  isAborted = false
  readonly scope = Scope.makeUnsafe("parallel")

  private readonly options: Options<A, R>
  private readonly program: ReturnType<Program<A, R>>
  /** What the program has asked for last; nothing when it has ended. */
  private asked: Step<R> | undefined
  private told: Array<A> | undefined
  private owner: Fiber.Fiber<unknown, unknown> | undefined
  private graceTimer: Fiber.Fiber<unknown, unknown> | undefined
  /** Nobody listens any more: the program is not resumed, only the scope is still to be closed. */
  private isLeft = false
  /** The owner is in a wait (not in a delivery): from there it can be taken over. */
  private isWaiting = false
  /** The grace period is over: every wait is answered by an interrupt. */
  private isOverdue = false
  private isEnded = false
  private eventsSinceYield = 0

  constructor(options: Options<A, R>) {
    this.options = options
    this.program = options.program(this)
  }

  /** A new array after each wait: one from before it, filled now, would keep its events alive in the old generation. */
  get outbox(): Array<A> {
    return (this.told ??= [])
  }

  private get hasEvents(): boolean {
    return this.told !== undefined && this.told.length > 0
  }

  start(): void {
    this.fork(this.drive(Exit.void))
  }

  /** Asks for the end of the run, and returns. Anyone may call it at any time, also what the run waits for. */
  abort(): void {
    if (this.isAborted || this.isEnded) return
    this.isAborted = true
    this.owner?.interruptUnsafe()
    if (this.isEnded) return
    this.graceTimer = this.fork(Effect.andThen(Effect.sleep(this.options.gracePeriod), this.takeOver()))
  }

  private fork(effect: Effect.Effect<void, never, R>): Fiber.Fiber<void> {
    return Effect.runForkWith(this.options.context)(effect)
  }

  private drive(answer: Exit.Exit<unknown, unknown>): Effect.Effect<void, never, R> {
    return Effect.uninterruptible(
      Effect.withFiber((fiber) => {
        this.owner = fiber
        if (this.isAborted && !this.isOverdue) fiber.interruptUnsafe()
        return Effect.onExit(this.advance(fiber, answer), (exit) => Effect.sync(() => this.end(fiber, exit)))
      })
    )
  }

  /** Runs the program to its end and closes its scope, or stops where another fiber has taken the program over. */
  private advance(owner: Fiber.Fiber<unknown, unknown>, answer: Exit.Exit<unknown, unknown>) {
    const isOwner = () => this.owner === owner
    const program = Effect.whileLoop({
      while: () => isOwner() && !this.isOver,
      body: () => this.next(),
      step: (value) => {
        if (isOwner()) this.take(value)
      }
    })
    return Effect.suspend(() => {
      this.resume(answer)
      return Effect.andThen(
        program,
        Effect.suspend(() => (isOwner() ? this.close() : Effect.void))
      )
    })
  }

  private get isOver(): boolean {
    return this.isLeft || (this.asked === undefined && !this.hasEvents)
  }

  /** Gives the program what its wait has come to. */
  private resume(answer: Exit.Exit<unknown, unknown>): void {
    for (; !this.isLeft; answer = interrupted) {
      if (!this.isRepeated(answer)) {
        const { done, value } = this.program.next(answer as never)
        this.asked = done === true ? undefined : value
      }
      if (!this.isOverdue || this.hasEvents || this.asked === undefined) return
    }
  }

  private isRepeated(answer: Exit.Exit<unknown, unknown>): boolean {
    const { asked } = this
    return asked !== undefined && isRepeating(asked) && Exit.isSuccess(answer) && asked.onValue(answer.value as never)
  }

  /** A delivery, or if there is nothing to deliver the wait. */
  private next(): Effect.Effect<unknown, never, R> {
    if (this.hasEvents) return this.deliver()
    this.isWaiting = true
    return isRepeating(this.asked!) ? this.asked.wait : this.asked!
  }

  /** Takes in what the delivery or the wait gave. */
  private take(value: unknown): void {
    if (this.isWaiting) {
      this.isWaiting = false
      this.resume(value as Exit.Exit<unknown, unknown>)
    } else if (value === false) this.isLeft = true
    else if (this.isOverdue && this.asked !== undefined) this.resume(interrupted)
  }

  private close(): Effect.Effect<void> {
    this.isWaiting = true
    const closing = Scope.close(this.scope, Exit.void)
    return this.isOverdue ? Effect.sync(() => void this.fork(closing)) : closing
  }

  private deliver(): Effect.Effect<boolean> {
    const events = this.outbox
    this.told = undefined
    return events.length <= EVENTS_PER_YIELD ? this.deliverSome(events) : this.deliverSlices(events)
  }

  private deliverSome(events: ReadonlyArray<A>): Effect.Effect<boolean> {
    this.eventsSinceYield += events.length
    if (this.eventsSinceYield <= EVENTS_PER_YIELD) return this.options.deliver(events)
    this.eventsSinceYield = events.length
    return Effect.andThen(Effect.yieldNow, this.options.deliver(events))
  }

  private deliverSlices(events: ReadonlyArray<A>): Effect.Effect<boolean> {
    return Effect.gen({ self: this }, function* () {
      for (let from = 0; from < events.length; from += EVENTS_PER_YIELD) {
        if (!(yield* this.deliverSome(events.slice(from, from + EVENTS_PER_YIELD)))) return false
      }
      return true
    })
  }

  /** Makes the grace timer's fiber the owner, in one step: the fiber that was may go on at any moment. */
  private takeOver(): Effect.Effect<void, never, R> {
    return Effect.withFiber((fiber) => {
      this.isOverdue = true
      if (!this.isWaiting) return Effect.void
      this.isWaiting = false
      this.owner = fiber
      this.fork(Scope.close(this.scope, Exit.void))
      return this.drive(interrupted)
    })
  }

  private end(owner: Fiber.Fiber<unknown, unknown>, exit: Exit.Exit<void>): void {
    if (this.owner !== owner || this.isEnded) return
    this.isEnded = true
    if (this.graceTimer !== owner) this.graceTimer?.interruptUnsafe()
    this.options.onEnd(exit)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Stream
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The events of a program, pulled. A delivery waits for the pull after the one that took it: a consumer that does not
 * read stops the program at its next wait.
 *
 * Leaving the stream aborts the run and waits for its end, at most the grace period. A consumer whose pull is interrupted
 * in an uninterruptible region aborts the run and goes on to read its end.
 */
export const toStream = <A, R>(
  program: (context: Context.Context<R>) => Program<A, R>,
  gracePeriod: Duration.Input
): Stream.Stream<A, never, R> =>
  Stream.fromChannel(
    Channel.fromTransform((_, scope) =>
      Effect.contextWith((context: Context.Context<R>) => {
        const handover = new Handover(program(context), context, gracePeriod)
        return Effect.as(Scope.addFinalizer(scope, handover.leave), handover.pull)
      })
    )
  )

class Handover<A, R> {
  private readonly driver: Driver<A, R>
  private readonly meeting = new Rendezvous<A>(() => this.start())
  private isStarted = false
  private onEnd: (() => void) | undefined

  constructor(program: Program<A, R>, context: Context.Context<R>, gracePeriod: Duration.Input) {
    this.driver = new Driver({
      program,
      context,
      gracePeriod,
      deliver: (events) => this.meeting.deliver(events),
      onEnd: (exit) => this.finish(exit)
    })
  }

  /** In an interruptible region the handler does not see the fiber's own interruption: there `leave` aborts. */
  readonly pull: Pull.Pull<Events<A>> = Effect.catchCause(Effect.interruptible(this.meeting.pull), (cause) => {
    if (!Cause.hasInterrupts(cause)) return Effect.failCause(cause)
    this.driver.abort()
    return this.meeting.pull
  })

  readonly leave: Effect.Effect<void> = Effect.callback((resume) => {
    if (!this.isStarted || this.meeting.isClosed) return resume(Effect.void)
    this.onEnd = () => resume(Effect.void)
    this.driver.abort()
    this.meeting.leave()
  })

  private start(): void {
    if (this.isStarted) return
    this.isStarted = true
    this.driver.start()
  }

  private finish(exit: Exit.Exit<void>): void {
    this.meeting.close(exit)
    this.onEnd?.()
  }
}
