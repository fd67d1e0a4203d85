// Server-sent events however their text is cut, held against the parser of Effect, which is slower but reads the same.
import { describe, expect, it } from "@effect/vitest"
import * as Sse from "effect/encoding/Sse"
import * as Schema from "effect/Schema"
import { EventDecoder, MAX_EVENT_LENGTH } from "../../../src/providers/anthropic/sse.ts"

type Event = readonly [name: string, data: string]

const decode = (chunks: ReadonlyArray<string>): ReadonlyArray<Event> => {
  const events: Array<Event> = []
  const decoder = new EventDecoder((name, data) => events.push([name, data]))
  for (const chunk of chunks) decoder.feed(chunk)
  return events
}

const reference = (text: string): ReadonlyArray<Event> => {
  const events: Array<Event> = []
  const parser = Sse.makeParser((event) => {
    if (event._tag === "Event") events.push([event.event === "message" ? "" : event.event, event.data])
  })
  parser.feed(text)
  return events
}

const cut = (text: string, places: ReadonlyArray<number>): ReadonlyArray<string> => {
  const ends = [...new Set(places.map((place) => place % (text.length + 1)))].toSorted((left, right) => left - right)
  return [...ends, text.length].map((to, index) => text.slice(index === 0 ? 0 : ends[index - 1], to))
}

const Piece = Schema.Literals([
  "data:",
  "data: ",
  "data",
  "event:",
  "event: ",
  "event: error",
  "id: 1",
  "retry: 5",
  ":",
  ": hi",
  "dat",
  "x:y",
  '{"a":1}',
  " ",
  "\n",
  "\r",
  "\r\n",
  "\n\n",
  "\r\r",
  "\r\n\r\n",
  "🦊",
  "\u2028"
])

describe("server-sent events", () => {
  it.prop(
    "are what they are, wherever the text is cut",
    [Schema.Array(Piece), Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200 })))],
    ([pieces, places]) => {
      const text = pieces.join("")
      expect(decode(cut(text, places))).toEqual(reference(text))
      expect(decode([...text])).toEqual(reference(text))
    },
    { arbitrary: { runs: 2_000 } }
  )

  it.each<[name: string, text: string, events: ReadonlyArray<Event>]>([
    ["a name and data", "event: ping\ndata: {}\n\n", [["ping", "{}"]]],
    ["one space after the colon is no data", "data:  a\n\n", [["", " a"]]],
    ["lines of data are joined", "data: a\ndata: b\n\n", [["", "a\nb"]]],
    ["an event without data is none", "event: ping\n\ndata: a\n\n", [["", "a"]]],
    ["an event that does not end is none", "data: a\n\ndata: b\n", [["", "a"]]],
    [
      "CRLF, CR and LF end lines",
      "data: a\r\n\r\ndata: b\r\rdata: c\n\n",
      [
        ["", "a"],
        ["", "b"],
        ["", "c"]
      ]
    ]
  ])("%s", (_, text, events) => {
    expect(decode([text])).toEqual(events)
    expect(decode([...text])).toEqual(events)
  })

  it("knows when an event is too long to be one", () => {
    const decoder = new EventDecoder(() => {})
    const chunk = "x".repeat(MAX_EVENT_LENGTH / 4)
    decoder.feed("data: ")
    for (let n = 0; n < 3; n++) decoder.feed(chunk)
    expect(decoder.isTooLong).toBe(false)
    decoder.feed(chunk)
    expect(decoder.isTooLong).toBe(true)
  })

  // Searching what is kept of a line for each character would take minutes.
  it("takes a long line character by character in no time", { timeout: 10_000 }, () => {
    const data = "x".repeat(1_000_000)
    expect(decode([...`data: ${data}\n\n`])).toEqual([["", data]])
  })
})
