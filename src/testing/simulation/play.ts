/** Plays a world: sets the stage, lets the machine run until all has happened, and gives the recording. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Agents from "../../Agent.ts"
import type { AgentEvent } from "../../AgentEvent.ts"
import * as Loop from "../../Loop.ts"
import type { RetryPolicy } from "../../RetryPolicy.ts"
import * as Hooks from "../../services/Hooks.ts"
import { Provider } from "../../services/Provider.ts"
import { Toolset } from "../../services/Toolset.ts"
import * as Tool from "../../Tool.ts"
import type { Alive, Recording } from "../Recording.ts"
import { GRACE_PERIOD_MS, type World } from "../World.ts"
import { makeHooks, makePolicies, makePolls, MODEL, userMessage, watchHooks } from "./hooks.ts"
import { Journal } from "./journal.ts"
import { Machine } from "./machine.ts"
import { makeProvider } from "./provider.ts"
import { Reader } from "./reader.ts"
import { recordingOf } from "./runs.ts"
import { Session } from "./session.ts"
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
  private readonly player: Reader | Session
  private readonly tools: ReadonlyArray<Tool.Any<R>>
  private aliveAtEnd: Alive | undefined

  constructor(world: World, agent: AnyAgent<R>) {
    this.world = world
    this.agent = agent
    this.machine = new Machine(world.seed)
    this.journal = new Journal(this.machine, world)
    this.stage = {
      machine: this.machine,
      journal: this.journal,
      clock: this.machine.clock(),
      stop: () => (this.player instanceof Session ? this.player.stop("abort") : this.player.stop())
    }
    this.player = world.agent === undefined ? new Reader(this.stage, world.consumer) : new Session(this.stage, world)
    const real = agent.tools?.map((tool) => watchTool(this.stage, tool)) ?? []
    this.tools = [...real, ...(world.tools?.map((tool) => makeTool(this.stage, tool)) ?? [])]
  }

  start(context: Context.Context<R>): void {
    const { player } = this
    const loopClock = this.machine.clock((ms) =>
      this.journal.track({ kind: "timer", name: "sleep", given: ms }, () => this.machine.sleep(ms))
    )
    const machine = Context.merge(context, this.machine.contextWith(loopClock))
    // What an agent logs of a listener that dies is no news where the world says that it dies.
    const isQuiet = this.world.consumer?.acts?.some(({ type }) => type === "die")
    const fork = Effect.runForkWith(isQuiet ? Context.add(machine, Logger.CurrentLoggers, new Set()) : machine)
    if (player instanceof Session) fork(player.begin(this.makeAgent(machine), this.prompts, fork))
    else fork(player.read(this.runOfLoop()))
  }

  /** Lets happen what happens without time passing. */
  settle(): boolean {
    return this.machine.settle()
  }

  /** Lets time pass to whatever happens next; false where nothing will happen any more. */
  advance(): boolean {
    const { player } = this
    if (player instanceof Session) {
      player.pause()
      return this.machine.advance() || player.goOn()
    }
    if (player.end !== undefined) this.aliveAtEnd ??= this.journal.alive()
    if (this.machine.advance()) return true
    if (player.end !== undefined || player.hearing.stopping !== undefined) return false
    player.stop(true)
    return true
  }

  get recording(): Recording {
    const { player, journal } = this
    const { log, events, requests, activities } = journal
    const common = {
      world: this.world,
      tools: this.tools.map(({ name, sequential, exclusive }) => ({
        name,
        isSequential: sequential === true,
        isExclusive: exclusive !== undefined
      })),
      changes: journal.changes()
    }
    if (player instanceof Session) return recordingOf(common, journal, player)
    const alive = journal.alive()
    return {
      ...common,
      start: { at: 0, position: 0 },
      log,
      events,
      requests,
      activities,
      stop: player.hearing.stopping,
      end: player.end,
      isWhole: player.end !== undefined && !player.isGone,
      aliveAtEnd: this.aliveAtEnd ?? alive,
      aliveLater: alive
    }
  }

  private get prompts() {
    return (this.world.prompts ?? ["go"]).map((prompt) => userMessage(prompt, 0))
  }

  private runOfLoop(): Stream.Stream<AgentEvent, never, R> {
    const { world, agent, stage } = this
    const options: Loop.Options<ReadonlyArray<Tool.Any<R>>, R> = {
      ...this.options(),
      ...makePolls(stage, world),
      prompts: this.prompts,
      tools: agent.tools === undefined && world.tools === undefined ? undefined : this.tools
    }
    return Stream.unwrap(
      Effect.map(makeProvider(stage, world), (provider) =>
        Stream.provideService(Loop.run<ReadonlyArray<Tool.Any<R>>, R>(options), Provider, provider)
      )
    )
  }

  private makeAgent(context: Context.Context<R>): Effect.Effect<Agents.Agent["Service"], never, R | Scope.Scope> {
    const { commands: _, ...modes } = this.world.agent ?? {}
    const tools = this.tools.map((tool) => Tool.provide(tool, context))
    const options = this.options()
    return Effect.flatMap(makeProvider(this.stage, this.world), (provider) =>
      Agents.make<R>({ ...options, ...modes, retry: options.retry ?? false }).pipe(
        Effect.provideService(Provider, provider),
        Effect.provideService(Toolset, { tools })
      )
    )
  }

  /** What a run and an agent are told in the same words. */
  private options() {
    const { world, agent, stage } = this
    const { maxTurns, concurrency, toolExecution, gracePeriodMs = GRACE_PERIOD_MS } = world.limits ?? {}
    return {
      model: MODEL,
      systemPrompt: agent.systemPrompt,
      messages: world.messages,
      hooks:
        agent.hooks === undefined
          ? makeHooks(stage, world.hooks)
          : Hooks.combine<[Hooks.Hooks<R>, Hooks.Hooks<R>]>(
              watchHooks(stage, agent.hooks),
              makeHooks(stage, world.hooks)
            ),
      ...makePolicies(stage, world),
      ...(agent.retry && { retry: agent.retry }),
      maxTurns,
      concurrency,
      toolExecution,
      gracePeriod: Duration.millis(gracePeriodMs)
    }
  }
}
