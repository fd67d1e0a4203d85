/**
 * Time and the order of fibers, in one hand: a Clock and a Scheduler of Effect that do nothing by themselves.
 *
 * Whoever holds the machine lets it do everything that is due (`settle`), then lets time pass to the next timer
 * (`advance`). With a seed, the order of what could happen at the same time is drawn from it, and fibers are made to let
 * others run at any of their steps. What follows within one stack (a fiber woken by another) happens in Effect's order.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Random from "effect/Random"
import * as Scheduler from "effect/Scheduler"

interface Timer {
  readonly at: number
  readonly fire: () => void
  readonly isSleep: boolean
}

/** How many tasks a run may take; one that takes more is caught in a circle. */
const MAX_TASKS = 200_000

/** The possible shares of steps at which a fiber lets others run. */
const PREEMPTIONS = [0, 0.01, 0.1, 0.4]

const makeRandom = (seed: number): (() => number) => {
  const random = Effect.runSync(Random.withSeed(Effect.service(Random.Random), seed))
  return () => random.nextDoubleUnsafe()
}

export class Machine implements Scheduler.Scheduler {
  readonly executionMode = "sync"
  now = 0
  /** Fibers that are alive. */
  fibers = 0
  /** Counts the tasks and timers: what has the same number happened within one stack. */
  turn = 0
  /** How often each fiber was made to let others run, and which of them still wait for their turn. */
  readonly preemptions = new Map<number, number>()
  readonly waiting = new Set<number>()
  /** The turn in which a fiber that was made to wait last went on. */
  readonly resumed = new Map<number, number>()
  /** Called when a task or a timer is through. */
  onTurn: () => void = () => {}

  private readonly tasks: Array<{ readonly priority: number; readonly run: () => void }> = []
  private readonly timers: Array<Timer> = []
  private readonly random: (() => number) | undefined
  private readonly preemption: number
  private opsToPreemption: number
  /** The fiber that is about to schedule the task with which it goes on. */
  private preempted: number | undefined

  constructor(seed: number | undefined) {
    this.random = seed === undefined ? undefined : makeRandom(seed)
    this.preemption = PREEMPTIONS[this.pick(PREEMPTIONS.length)]!
    this.opsToPreemption = this.untilPreemption()
  }

  /** The services that make fibers run here, with the clock that they see. */
  contextWith(clock: Clock.Clock): Context.Context<never> {
    return Context.make(Scheduler.Scheduler, this as Scheduler.Scheduler).pipe(
      Context.add(Clock.Clock, clock),
      Context.add(Metric.FiberRuntimeMetrics, {
        recordFiberStart: () => {
          this.fibers++
        },
        recordFiberEnd: () => {
          this.fibers--
        }
      })
    )
  }

  /** The number of sleeps that are not over. */
  get sleeps(): number {
    return this.timers.filter(({ isSleep }) => isSleep).length
  }

  /** Does everything that can happen without time passing. False where there was nothing. */
  settle(): boolean {
    let isAnything = false
    while (this.tasks.length > 0 && this.turn < MAX_TASKS) {
      const urgent = Math.min(...this.tasks.map(({ priority }) => priority))
      const ready = this.tasks.filter(({ priority }) => priority === urgent)
      const task = ready[this.pick(ready.length)]!
      this.tasks.splice(this.tasks.indexOf(task), 1)
      this.take(task.run)
      isAnything = true
    }
    return isAnything
  }

  /** Lets time pass to the next timer, and fires it. False where there is none. */
  advance(): boolean {
    if (this.timers.length === 0 || this.turn >= MAX_TASKS) return false
    const at = Math.min(...this.timers.map((timer) => timer.at))
    const due = this.timers.filter((timer) => timer.at === at)
    const timer = due[this.pick(due.length)]!
    this.remove(timer)
    this.now = at
    this.take(timer.fire)
    return true
  }

  /** Calls `f` at an instant; gives what takes that back. */
  at(instant: number, f: () => void, isSleep = false): () => void {
    const timer = { at: Math.max(instant, this.now), fire: f, isSleep }
    this.timers.push(timer)
    return () => this.remove(timer)
  }

  /** A clock whose sleeps go through `sleep`, so that they can be told from those of others. */
  clock(sleep: (ms: number) => Effect.Effect<void> = (ms) => this.sleep(ms)): Clock.Clock {
    const nanos = () => BigInt(Math.round(this.now * 1e6))
    return {
      currentTimeMillisUnsafe: () => this.now,
      currentTimeMillis: Effect.sync(() => this.now),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: (duration) => sleep(Duration.toMillis(duration))
    }
  }

  readonly sleep = (ms: number): Effect.Effect<void> => {
    if (ms <= 0) return Effect.yieldNow
    if (!Number.isFinite(ms)) return Effect.never
    return Effect.callback((resume) => Effect.sync(this.at(this.now + ms, () => resume(Effect.void), true)))
  }

  makeDispatcher(): Scheduler.SchedulerDispatcher {
    return {
      scheduleTask: (run, priority) => {
        const fiber = this.preempted
        this.preempted = undefined
        this.tasks.push({ run: fiber === undefined ? run : this.resuming(fiber, run), priority })
      },
      flush: () => {}
    }
  }

  shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    if (--this.opsToPreemption > 0) return false
    this.opsToPreemption = this.untilPreemption()
    this.preemptions.set(fiber.id, (this.preemptions.get(fiber.id) ?? 0) + 1)
    this.preempted = fiber.id
    this.waiting.add(fiber.id)
    return true
  }

  /** Goes on with a fiber that was made to wait. An interrupt may have done so before, and it may wait again since. */
  private resuming(fiber: number, run: () => void): () => void {
    const preemptions = this.preemptions.get(fiber)
    return () => {
      if (this.preemptions.get(fiber) === preemptions) {
        this.waiting.delete(fiber)
        this.resumed.set(fiber, this.turn)
      }
      run()
    }
  }

  private take(f: () => void): void {
    this.turn++
    f()
    this.onTurn()
  }

  private remove(timer: Timer): void {
    const index = this.timers.indexOf(timer)
    if (index !== -1) this.timers.splice(index, 1)
  }

  private pick(count: number): number {
    return this.random === undefined || count === 1 ? 0 : Math.floor(this.random() * count)
  }

  private untilPreemption(): number {
    if (this.preemption === 0 || this.random === undefined) return Infinity
    return Math.ceil(Math.log(1 - this.random()) / Math.log(1 - this.preemption))
  }
}
