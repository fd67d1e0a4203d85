/**
 * The prompt: the words of the command line, or what comes from standard input. An empty one is refused.
 */
import * as Effect from "effect/Effect"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import { systemMessage, UsageError } from "./failures.ts"

const example = 'effect-agent "what scripts does package.json define?"'

export const readPrompt = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
  const stdio = yield* Stdio.Stdio
  const isGiven = words.length > 0 && !(words.length === 1 && words[0] === "-")
  if (words.length === 0 && (yield* stdio.stdinIsTerminal)) {
    return yield* new UsageError({ message: `There is no prompt; try: ${example}` })
  }
  const prompt = isGiven ? words.join(" ") : yield* readAll(stdio)
  if (prompt.trim() === "") return yield* new UsageError({ message: `The prompt is empty; try: ${example}` })
  return prompt
})

const readAll = (stdio: Stdio.Stdio) =>
  stdio.stdin.pipe(
    Stream.decodeText(),
    Stream.mkString,
    Effect.mapError(
      (error) => new UsageError({ message: `Cannot read the prompt from standard input: ${systemMessage(error)}.` })
    )
  )
