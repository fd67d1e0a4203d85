/**
 * Prints a run: a mode turns events into texts for the two outputs, and this writes them, in order, each after the one
 * before was taken. So a slow reader slows the run down, and memory stays bounded.
 *
 * Whoever interrupts the printing aborts the run and still gets the rest of its events printed.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as PlatformError from "effect/PlatformError"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import type { AgentEvent, EndReason } from "../AgentEvent.ts"
import { OutputError, systemCode, systemMessage } from "./failures.ts"

/** A text for one of the outputs. */
export interface Write {
  readonly to: "stdout" | "stderr"
  readonly text: string
}

/** A mode of printing: a pure fold over the events of a run. */
export interface Format<State> {
  readonly initial: State
  readonly step: (state: State, event: AgentEvent) => readonly [State, ReadonlyArray<Write>]
}

/** Writes to an output. */
const write = ({ to, text }: Write): Effect.Effect<void, PlatformError.PlatformError, Stdio.Stdio> =>
  Effect.flatMap(Stdio.Stdio, (stdio) => Stream.run(Stream.succeed(text), stdio[to]()))

/** Writes to standard error. That nobody reads it is no reason to end a run. */
export const say = (text: string): Effect.Effect<void, never, Stdio.Stdio> =>
  Effect.ignore(write({ to: "stderr", text }))

/** Prints all events, and tells why the run ended. */
export const print = <State, R>(events: Stream.Stream<AgentEvent, never, R>, format: Format<State>) =>
  Effect.uninterruptibleMask(
    Effect.fnUntraced(function* (restore) {
      const printing = yield* Effect.forkChild(Effect.uninterruptible(fold(events, format)), { startImmediately: true })
      return yield* Effect.onInterrupt(restore(Fiber.join(printing)), () => Fiber.interrupt(printing))
    })
  )

const fold = <State, R>(events: Stream.Stream<AgentEvent, never, R>, format: Format<State>) =>
  Effect.suspend(() => {
    let state = format.initial
    let reason: EndReason = "error"
    const printAll = (array: ReadonlyArray<AgentEvent>) => {
      const writes: Array<Write> = []
      for (const event of array) {
        const [next, more] = format.step(state, event)
        state = next
        for (const item of more) append(writes, item)
        if (event.type === "agent_end") reason = event.reason
      }
      return Effect.forEach(writes, deliver, { discard: true })
    }
    return Effect.map(Stream.runForEachArray(events, printAll), () => reason)
  })

/** Writes to an output, of which only standard output must be read. */
export const deliver = ({ text, to }: Write) =>
  to === "stderr" ? say(text) : Effect.mapError(write({ text, to }), outputError)

const outputError = (error: PlatformError.PlatformError) =>
  new OutputError({
    message: `Cannot write to standard output: ${systemMessage(error)}.`,
    isClosed: closedCodes.has(systemCode(error))
  })

/** What writes say when the reader has gone: the first of them, and those after it. */
const closedCodes: ReadonlySet<unknown> = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED"])

/** Texts for the same output, one after the other, are one write. */
const append = (writes: Array<Write>, next: Write) => {
  const last = writes.at(-1)
  if (last?.to === next.to) writes[writes.length - 1] = { to: next.to, text: last.text + next.text }
  else writes.push(next)
}
