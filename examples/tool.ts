import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import * as Tool from "effect-agent/Tool"

export const WordCount = Tool.make({
  name: "word_count",
  description: "Counts the words of a text file.",
  parameters: Schema.Struct({
    path: Schema.String.annotate({ description: "The file, relative to the current folder" }),
    longerThan: Schema.optionalKey(Schema.Int).annotate({ description: "Count only words of more letters than this" })
  }),
  execute: Effect.fn("WordCount.execute")(function* ({ path, longerThan = 0 }, call) {
    const fs = yield* FileSystem.FileSystem
    yield* call.update(`Reading ${path}`)
    const text = yield* fs
      .readFileString(path)
      .pipe(
        Effect.mapError((cause) => new Tool.ToolFailure({ message: `Cannot read ${path}. Is the path right?`, cause }))
      )
    const words = text.split(/\s+/).filter((word) => word.length > longerThan)
    return { content: [{ type: "text", text: `${words.length} words` }], details: { path, words: words.length } }
  }),
  exclusive: ({ path }) => Effect.succeed(path)
})
