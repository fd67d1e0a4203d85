// What a terminal does with a text: its screen, and everything that a text can do to it besides being shown.
import xterm from "@xterm/headless"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export interface Screen {
  /** Every line that was written, without the blanks at its end, up to the last one that is not empty. */
  readonly lines: ReadonlyArray<string>
  readonly cursor: { readonly x: number; readonly y: number }
  /** What happened besides text being shown: `title`, `bell`, `reply` (the terminal answers as if typed), `osc 52`, … */
  readonly effects: ReadonlyArray<string>
}

const COLUMNS = 1000
const ROWS = 50

/** Shows texts as a terminal does whose line discipline sends a carriage return before each newline. */
export const show = (...texts: ReadonlyArray<string>): Effect.Effect<Screen> => showOn(COLUMNS, ...texts)

export const showOn = (columns: number, ...texts: ReadonlyArray<string>): Effect.Effect<Screen> =>
  Effect.gen(function* () {
    const terminal = new xterm.Terminal({
      cols: columns,
      rows: ROWS,
      convertEol: true,
      allowProposedApi: true,
      logLevel: "off"
    })
    const effects: Array<string> = []
    const tell = (effect: string) => () => void effects.push(effect)
    terminal.onTitleChange(tell("title"))
    terminal.onBell(tell("bell"))
    terminal.onData(tell("reply"))
    terminal.onBinary(tell("reply"))
    terminal.buffer.onBufferChange(tell("buffer"))
    for (const code of [4, 7, 8, 9, 10, 11, 12, 52, 133, 633, 777, 1337]) {
      terminal.parser.registerOscHandler(code, () => {
        effects.push(`osc ${code}`)
        return false
      })
    }
    const modes = JSON.stringify(terminal.modes)
    for (const text of texts) yield* Effect.callback<void>((resume) => terminal.write(text, () => resume(Effect.void)))
    if (JSON.stringify(terminal.modes) !== modes) effects.push("modes")

    const buffer = terminal.buffer.active
    const lines = Array.from({ length: buffer.length }, (_, y) => buffer.getLine(y)!.translateToString(true).trimEnd())
    while (lines.at(-1) === "") lines.pop()
    const cursor = { x: buffer.cursorX, y: buffer.baseY + buffer.cursorY }
    terminal.dispose()
    return { lines, cursor, effects }
  })

/** What a terminal is to show of a text without control characters, where no line is as long as the screen is wide. */
export const plain = (text: string): Omit<Screen, "effects"> => {
  const lines = text.split("\n").map(expandTabs)
  const cursor = { x: lines.at(-1)!.length, y: lines.length - 1 }
  const shown = lines.map((line) => line.trimEnd())
  while (shown.at(-1) === "") shown.pop()
  return { lines: shown, cursor }
}

const expandTabs = (line: string): string =>
  line.split("\t").reduce((left, right) => left.padEnd((Math.floor(left.length / 8) + 1) * 8) + right)

/** Texts that were made to do something to a terminal, each of them by itself. */
export const attacks: Readonly<Record<string, string>> = {
  "clears the screen": "\x1b[2J\x1b[H",
  "moves the cursor up and overwrites": "\x1b[1A\x1b[2Ksafe",
  "overwrites its line": "rm -rf /\rls      ",
  "steps back": "evil\b\b\b\bgood",
  "sets the title": "\x1b]0;pwned\x07",
  "sets the title by C1": "\x9d0;pwned\x9c",
  "writes the clipboard": "\x1b]52;c;ZXZpbA==\x07",
  "writes the clipboard by C1": "\x9d52;c;ZXZpbA==\x1b\\",
  "asks for a reply that is typed in": "\x1b[6n\x1b[c\x1b[>c",
  "asks by C1": "\x9b6n",
  "asks for the terminal's name": "\x05\x1bZ",
  "makes a link": "\x1b]8;;http://evil.example\x07click\x1b]8;;\x07",
  "switches the screen": "\x1b[?1049h",
  "switches mouse reports and pasting": "\x1b[?1003h\x1b[?2004h",
  "switches the character set": "\x1b(0lqqk\x0e",
  "hides text": "\x1b[8mhidden\x1b[0m",
  scrolls: "\x1bM\x1bD\x0b\x0c",
  resets: "\x1bc",
  rings: "\x07",
  "starts a device control string": "\x1bPq#0;2;0;0;0#0~~@@\x1b\\",
  "fakes the end of the line": "\x1b[1000D\x1b[31mError\x1b[m",
  deletes: "abc\x7f\x7f"
}

const pieces = [
  ...Object.values(attacks),
  ...Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)),
  "[",
  "]52;c;",
  "2J",
  "0;x",
  "\u202e",
  "\u2066",
  "\u2028"
]

/** Texts of attacks and their parts, in any order, cut into deltas at any place. */
export const hostileDeltas: Arbitrary.Arbitrary<ReadonlyArray<string>> = Arbitrary.schema(
  Schema.Array(
    Schema.Struct({
      piece: Schema.Literals(pieces),
      cut: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
    })
  )
).pipe(
  Arbitrary.map((parts) =>
    parts.flatMap(({ cut, piece }) => [piece.slice(0, cut), piece.slice(cut)].filter((part) => part !== ""))
  )
)
