/** Plays a world: sets the stage, lets the machine run until all has happened, and gives the recording. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Loop from "../../Loop.ts"
import type { RetryPolicy } from "../../RetryPolicy.ts"
import * as Hooks from "../../services/Hooks.ts"
import { Provider } from "../../services/Provider.ts"
import type * as Tool from "../../Tool.ts"
import type { Alive, Recording } from "../Recording.ts"
import { GRACE_PERIOD_MS, type World } from "../World.ts"
import { makeHooks, makePolls, MODEL, userMessage, watchHooks } from "./hooks.ts"
import { Journal } from "./journal.ts"
import { Machine } from "./machine.ts"
import { makeProvider } from "./provider.ts"
import { Reader } from "./reader.ts"
import type { Stage } from "./steps.ts"
import { makeTool, watchTool } from "./tools.ts"

/** What is real in a simulated run: its code is run, on the clock of the world. */
export interface Agent<Tools extends ReadonlyArray<Tool.Any> = ReadonlyArray<Tool.Any>, R = never> {
  readonly systemPrompt?: string | undefined
  readonly tools?: Tools | undefined
  readonly hooks?: Hooks.Hooks<R> | undefined
  readonly retry?: RetryPolicy<R> | undefined
}

type AnyAgent<R> = Agent<ReadonlyArray<Tool.Any<R>>, R>

export class Play<R> {
  private readonly world: World
  private readonly agent: AnyAgent<R>
  private readonly machine: Machine
  private readonly journal: Journal
  private readonly stage: Stage
  private readonly reader: Reader
  private readonly tools: ReadonlyArray<Tool.Any<R>>
  private aliveAtEnd: Alive | undefined

  constructor(world: World, agent: AnyAgent<R>) {
    this.world = world
    this.agent = agent
    this.machine = new Machine(world.seed)
    this.journal = new Journal(this.machine)
    this.stage = {
      machine: this.machine,
      journal: this.journal,
      clock: this.machine.clock(),
      stop: () => this.reader.stop()
    }
    this.reader = new Reader(this.stage, world.consumer)
    const real = agent.tools?.map((tool) => watchTool(this.stage, tool)) ?? []
    this.tools = [...real, ...(world.tools?.map((tool) => makeTool(this.stage, tool)) ?? [])]
  }

  start(context: Context.Context<R>): void {
    const events = Stream.unwrap(
      Effect.map(makeProvider(this.stage, this.world), (provider) =>
        Stream.provideService(Loop.run<ReadonlyArray<Tool.Any<R>>, R>(this.options()), Provider, provider)
      )
    )
    const loopClock = this.machine.clock((ms) =>
      this.journal.track({ kind: "timer", name: "sleep", given: ms }, () => this.machine.sleep(ms))
    )
    Effect.runForkWith(Context.merge(context, this.machine.contextWith(loopClock)))(this.reader.read(events))
  }

  /** Lets happen what happens without time passing. */
  settle(): boolean {
    return this.machine.settle()
  }

  /** Lets time pass to whatever happens next; false where nothing will happen any more. */
  advance(): boolean {
    if (this.reader.end !== undefined) this.aliveAtEnd ??= this.journal.alive()
    if (this.machine.advance()) return true
    if (this.reader.end !== undefined || this.reader.stopping !== undefined) return false
    this.reader.stop(true)
    return true
  }

  get recording(): Recording {
    const { log, events, requests, activities } = this.journal
    const alive = this.journal.alive()
    return {
      world: this.world,
      tools: this.tools.map(({ name, sequential, exclusive }) => ({
        name,
        isSequential: sequential === true,
        isExclusive: exclusive !== undefined
      })),
      log,
      events,
      requests,
      activities,
      stop: this.reader.stopping,
      end: this.reader.end,
      isWhole: this.reader.end !== undefined && !this.reader.isGone,
      aliveAtEnd: this.aliveAtEnd ?? alive,
      aliveLater: alive,
      changes: this.journal.changes()
    }
  }

  private options(): Loop.Options<ReadonlyArray<Tool.Any<R>>, R> {
    const { world, agent, stage } = this
    const { maxTurns, concurrency, toolExecution, gracePeriodMs = GRACE_PERIOD_MS } = world.limits ?? {}
    return {
      model: MODEL,
      systemPrompt: agent.systemPrompt,
      messages: world.messages,
      prompts: (world.prompts ?? ["go"]).map((prompt) => userMessage(prompt, 0)),
      tools: agent.tools === undefined && world.tools === undefined ? undefined : this.tools,
      hooks:
        agent.hooks === undefined
          ? makeHooks(stage, world.hooks)
          : Hooks.combine<[Hooks.Hooks<R>, Hooks.Hooks<R>]>(
              watchHooks(stage, agent.hooks),
              makeHooks(stage, world.hooks)
            ),
      ...makePolls(stage, world),
      ...(agent.retry && { retry: agent.retry }),
      maxTurns,
      concurrency,
      toolExecution,
      gracePeriod: Duration.millis(gracePeriodMs)
    }
  }
}
