/** The state of an agent, a fold of its events, and the watchers that are told of each change of it. */
import type { AgentEvent } from "../AgentEvent.ts"
import * as AgentState from "../AgentState.ts"
import type { Message } from "../Message.ts"
import { type Before, stateOf, Watcher } from "./watchers.ts"

export class WatchedState {
  private folded: AgentState.AgentState
  /** The last `message_update`. The next event makes it pointless to fold it in, so that is done when somebody looks. */
  private update: AgentEvent | undefined
  private watchers: ReadonlyArray<Watcher> = []
  private isClosed = false

  constructor(messages: ReadonlyArray<Message> | undefined) {
    this.folded = AgentState.make(messages)
  }

  get state(): AgentState.AgentState {
    this.fold(stateOf(this.unfolded))
    return this.folded
  }

  private get unfolded(): Before {
    return { folded: this.folded, update: this.update }
  }

  private fold(state: AgentState.AgentState): void {
    this.folded = state
    this.update = undefined
  }

  take(event: AgentEvent): void {
    const before = this.watchers.length === 0 ? undefined : this.unfolded
    if (event.type === "message_update") this.update = event
    else this.fold(AgentState.reduce(this.folded, event))
    if (before !== undefined) for (const watcher of this.watchers) watcher.offer(event, before)
  }

  /** Sets the state by hand. */
  replace(state: AgentState.AgentState): void {
    this.fold(state)
    for (const watcher of this.watchers) watcher.replace(state)
  }

  watch(): Watcher {
    const watcher = new Watcher()
    if (this.isClosed) watcher.close()
    else this.watchers = [...this.watchers, watcher]
    return watcher
  }

  unwatch(watcher: Watcher): void {
    this.watchers = this.watchers.filter((other) => other !== watcher)
    watcher.close()
  }

  close(): void {
    this.isClosed = true
    for (const watcher of this.watchers) watcher.close()
    this.watchers = []
  }
}
