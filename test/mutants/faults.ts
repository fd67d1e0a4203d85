// Deliberate faults, each one change of a text that occurs once in its file. A fault whose text is gone is anchored anew.

export interface Fault {
  readonly name: string
  readonly file: string
  readonly text: string
  readonly replacement: string
}

const execution = "src/internal/execution.ts"
const loop = "src/Loop.ts"
const core = "src/agent/core.ts"

/** Faults of a run. */
const ofRuns: ReadonlyArray<Fault> = [
  {
    name: "a lost finalizer",
    file: "src/internal/response.ts",
    text: "  yield* cleanup(Scope.close(scope, Exit.void))\n",
    replacement: ""
  },
  {
    name: "a result out of order",
    file: "src/internal/batch.ts",
    text: "    for (const slot of this.slots) this.answer(slot)\n",
    replacement: "    for (const slot of this.slots.toReversed()) this.answer(slot)\n"
  },
  {
    name: "an update after the end",
    file: execution,
    text: "if (!slot.isExecuting || this.run.isAborted || Result.isFailure(update))",
    replacement: "if (Result.isFailure(update))"
  },
  {
    name: "an unmasked emit",
    file: "src/internal/driver.ts",
    text: "if (this.eventsSinceYield <= EVENTS_PER_YIELD) return this.options.deliver(events)",
    replacement:
      "if (this.eventsSinceYield <= EVENTS_PER_YIELD) return Effect.interruptible(this.options.deliver(events))"
  },
  {
    name: "a swallowed defect",
    file: "src/internal/toolCall.ts",
    text: `if (isOwn) return { result, isError: _tag !== "Done" }`,
    replacement: `if (isOwn) return { result, isError: _tag === "Interrupted" }`
  },
  {
    name: "a second agent_end",
    file: loop,
    text: "      return over(message.stopReason)\n",
    replacement:
      `      const reason = message.stopReason\n` +
      `      this.tell({ type: "agent_end", messages: this.state.newMessages, reason, usage: this.usage })\n` +
      `      return over(reason)\n`
  },
  {
    name: "a mutated snapshot",
    file: "src/internal/message.ts",
    text: `this.replace(contentIndex, { type: "text", text: content.text + delta })`,
    replacement: "Object.assign(content, { text: content.text + delta })"
  },
  {
    name: "a poll after a stop",
    file: loop,
    text: "        if (turn.isLast) return turn.reason\n        pending = yield* this.poll(this.options.steering)\n",
    replacement:
      "        pending = yield* this.poll(this.options.steering)\n        if (turn.isLast) return turn.reason\n"
  },
  {
    name: "a hook outside the interruptible part",
    file: loop,
    text: `yield* wait(guarded("The hook prepareNextTurn", () => prepareNextTurn(end), isNextTurn))`,
    replacement: `yield* Effect.exit(guarded("The hook prepareNextTurn", () => prepareNextTurn(end), isNextTurn))`
  },
  {
    name: "a leaked fiber",
    file: execution,
    text: "      this.fibers.push(Fiber.runIn(fiber, this.run.scope))\n",
    replacement: ""
  }
]

/** Faults of an agent around its runs. */
const ofAgents: ReadonlyArray<Fault> = [
  {
    name: "a lost message: nothing is heard of one that is cleared",
    file: "src/agent/messageQueue.ts",
    text: `return () => refuse(cleared, "cleared")`,
    replacement: "return () => void cleared"
  },
  {
    name: "a message delivered twice: a receipt that is settled leaves it on its way",
    file: "src/agent/messageQueue.ts",
    text: "const [entry] = this.onTheWay.splice(index, 1)",
    replacement: "const entry = this.onTheWay[index]"
  },
  {
    name: "a poll that an abort interrupts when it has taken a message",
    file: core,
    text: "followUp: Effect.sync(() => this.followUp.take())",
    replacement:
      "followUp: Effect.tap(Effect.sync(() => this.followUp.take()), () => " +
      "Effect.sync(() => this.followUp.giveBack()))"
  },
  {
    name: "a receipt that says the wrong turn",
    file: core,
    text: `if (event.type === "turn_start") running.turn++`,
    replacement: `if (event.type === "turn_end") running.turn++`
  },
  {
    name: "a watcher that misses an event",
    file: "src/agent/watchedState.ts",
    text: "if (before !== undefined) for (const watcher of",
    replacement: `if (before !== undefined && event.type !== "turn_end") for (const watcher of`
  },
  {
    name: "a state that is not the fold",
    file: "src/agent/watchedState.ts",
    text: "else this.fold(AgentState.reduce(this.folded, event))",
    replacement: `else if (event.type !== "retry") this.fold(AgentState.reduce(this.folded, event))`
  }
]

export const faults: ReadonlyArray<Fault> = [...ofRuns, ...ofAgents]
