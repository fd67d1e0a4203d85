// Arguments while they stream: the tolerant reading of a JSON text at each of its beginnings, at linear cost, and the tool
// call that shows it.
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { isCut, naive } from "./naiveReader.ts"
import { ArgumentText, finishCall, PartialToolCall, readTolerant } from "../../src/internal/preview.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Readings
// ---------------------------------------------------------------------------------------------------------------------

describe("a beginning of JSON", () => {
  const readings: ReadonlyArray<readonly [string, unknown]> = [
    ["", {}],
    [" \n\t\r", {}],
    ["{", {}],
    ['{"', {}],
    ['{"a', {}],
    ['{"a"', {}],
    ['{"a":', {}],
    ['{"a": ', {}],
    ['{"a":"', { a: "" }],
    ['{"a":"x', { a: "x" }],
    ['{"a":"x ', { a: "x" }],
    ['{"a":"x y', { a: "x y" }],
    ['{"a":"x \n\t', { a: "x" }],
    ['{"a":" x ",', { a: " x " }],
    ['{"a":1', { a: 1 }],
    ['{"a":1,', { a: 1 }],
    ['{"a":1,"b', { a: 1 }],
    ['{"a":1,"b":', { a: 1 }],
    ['{"a":tr', {}],
    ['{"a":true', { a: true }],
    ['{"a":null ', { a: null }],
    ['{"a":[', { a: [] }],
    ['{"a":[1,', { a: [1] }],
    ['{"a":[1,"', { a: [1, ""] }],
    ['{"a":[{"b":"c', { a: [{ b: "c" }] }],
    ['{"a":{"b":{}', { a: { b: {} } }],
    ['{"a":"\\', { a: "" }],
    ['{"a":"x\\', { a: "x" }],
    ['{"a":"x \\', { a: "x " }],
    ['{"a":"\\u', { a: "" }],
    ['{"a":"\\u00e', { a: "" }],
    ['{"a":"\\u00e9', { a: "\u00e9" }],
    ['{"a":"\\n', { a: "\n" }],
    ['{"a":"\\"\\\\\\/\\b\\f\\r\\t', { a: '"\\/\b\f\r\t' }],
    ['{"a":"\\ud83d\\ude00', { a: "\u{1f600}" }],
    ["[", []],
    ["[1, [2, [", [1, [2, []]]],
    ['"te', "te"],
    ["12", 12],
    ["-1.5e3", -1500],
    ["true", true],
    ["null", null],
    ["null ", null],
    [' "x" ', "x"]
  ]
  it.each(readings)("%j reads as %j", (text, value) => {
    expect(readTolerant(text)).toStrictEqual(value)
  })
})

describe("a whole text", () => {
  it.each(['{"a":1} and more', '{"a":1}}', '{"a":1}{"b":2}', ' {"a":1}\n'])("%j reads as what stands first", (text) => {
    expect(readTolerant(text)).toEqual({ a: 1 })
  })

  it.each(["hello", "<html>", "'a'", "}", "]", ":", ",", "undefined", "NaN", "+1", "\u0000"])(
    "%j does not begin like JSON: {}",
    (text) => {
      expect(readTolerant(text)).toEqual({})
    }
  )

  it("that breaks inside keeps what stood before", () => {
    expect(readTolerant('{"a":1,"b":oops,"c":3}')).toEqual({ a: 1 })
    expect(readTolerant('{"a":1 "b":2}')).toEqual({ a: 1 })
    expect(readTolerant('{"a":1,b:2}')).toEqual({ a: 1 })
    expect(readTolerant('{"a":[1 2]}')).toEqual({ a: [1] })
  })

  it("may have raw control characters in its strings", () => {
    expect(readTolerant('{"a":"x\ny\tz"}')).toEqual({ a: "x\ny\tz" })
  })

  it.prop("of valid JSON reads as JSON.parse reads it", [Schema.Json, Schema.Literals([0, 2])], ([value, indent]) => {
    const text = JSON.stringify(value, undefined, indent)
    expect(readTolerant(text)).toEqual(JSON.parse(text))
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// Deltas
// ---------------------------------------------------------------------------------------------------------------------

const Deep = Schema.Struct({
  path: Schema.String,
  list: Schema.Array(Schema.Struct({ s: Schema.String, n: Schema.Finite, more: Schema.Json })),
  json: Schema.Json
})

/** A JSON text cut into deltas, each of which ends where one may. */
const cutAt = (text: string, lengths: ReadonlyArray<number>): ReadonlyArray<string> => {
  const deltas: Array<string> = []
  let from = 0
  for (let index = 0; from < text.length; index++) {
    let to = from + (lengths[index % lengths.length] ?? 1)
    while (to < text.length && !isCut(text, to)) to++
    deltas.push(text.slice(from, to))
    from = to
  }
  return deltas
}

const Lengths = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))).check(
  Schema.isMinLength(1)
)

it.prop(
  "at every delta the reading is that of a naive reader, whenever it is looked at",
  [Arbitrary.schema(Deep), Lengths, Schema.Literals([0, 1])],
  ([value, lengths, indent]) => {
    const text = JSON.stringify(value, undefined, indent)
    const eager = new ArgumentText()
    const late = new ArgumentText()
    const held = new ArgumentText()
    const values: Array<unknown> = []
    const wanted: Array<unknown> = []
    let soFar = ""
    for (const delta of cutAt(text, lengths)) {
      soFar += delta
      eager.append(delta)
      late.append(delta)
      held.append(delta)
      values.push(held.read(held.length))
      wanted.push(naive(soFar))
      expect(eager.read(eager.length)).toEqual(wanted.at(-1))
    }
    expect(eager.toString()).toBe(text)
    // Read for the first time when all has arrived, then backwards.
    expect(late.read(late.length)).toEqual(JSON.parse(text))
    for (let length = wanted.length; length > 0; length--) expect(late.read(length)).toEqual(wanted[length - 1])
    // Read in time, but looked into only now.
    expect(values).toEqual(wanted)
  }
)

it.prop(
  "any text, cut anywhere, has a reading, the same in one piece as in many",
  [Schema.String, Lengths],
  ([text, lengths]) => {
    for (const start of ["", "{", '{"a":', '["']) {
      const whole = start + text
      const parts = new ArgumentText()
      for (let from = 0, index = 0; from < whole.length; index++) {
        const to = from + (lengths[index % lengths.length] ?? 1)
        parts.append(whole.slice(from, to))
        parts.read(parts.length)
        from = to
      }
      expect(parts.read(parts.length)).toEqual(readTolerant(whole))
    }
  }
)

describe("cost", () => {
  /** Counts how often a character of the deltas is looked at. */
  const countReads = (deltas: ReadonlyArray<string>, read: (text: ArgumentText) => void): number => {
    let reads = 0
    const text = new ArgumentText()
    for (const delta of deltas) {
      text.append(
        new Proxy(new String(delta), {
          get: (target, key) => {
            if (key === "charCodeAt") {
              return (at: number) => {
                reads++
                return delta.charCodeAt(at)
              }
            }
            if (typeof key === "string" && /^\d+$/.test(key)) reads++
            const value = Reflect.get(target, key, target) as unknown
            return typeof value === "function" ? value.bind(target) : value
          }
        }) as unknown as string
      )
      read(text)
    }
    return reads
  }
  const deltasOf = (size: number) =>
    cutAt(JSON.stringify({ path: "x", lines: Array.from({ length: size }, (_, line) => `line ${line} `) }), [20])

  it("each character is looked at a few times, however often the value is read", () => {
    const deltas = deltasOf(2000)
    const characters = deltas.join("").length
    expect(countReads(deltas, (text) => void text.read(text.length))).toBeLessThan(4 * characters)
  })

  it("a text four times as long costs four times as much", () => {
    const cost = (size: number) => countReads(deltasOf(size), (text) => void text.read(text.length))
    const small = cost(500)
    expect(small).toBeGreaterThan(500)
    expect(cost(2000) / small).toBeLessThan(4.5)
  })

  it("nothing is read where nobody looks", () => {
    expect(countReads(deltasOf(500), () => {})).toBe(0)
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// Calls
// ---------------------------------------------------------------------------------------------------------------------

describe("a call in progress", () => {
  const snapshots = (...deltas: ReadonlyArray<string>) => {
    const text = new ArgumentText()
    return deltas.map((delta) => {
      text.append(delta)
      return new PartialToolCall("id", "name", text)
    })
  }
  const deltas = ['{"path":"a', 'b","list":["x"', ',"y",', '"z"],"__proto__":{"x":1}}']
  const readings = [
    { path: "a" },
    { path: "ab", list: ["x"] },
    { path: "ab", list: ["x", "y"] },
    JSON.parse('{"path":"ab","list":["x","y","z"],"__proto__":{"x":1}}') as unknown
  ]

  it("shows its arguments as they were at its moment, in whatever order the moments are read", () => {
    for (const order of [
      [0, 1, 2, 3],
      [3, 2, 1, 0],
      [2, 0, 3, 1],
      [3, 3, 0, 0]
    ]) {
      const calls = snapshots(...deltas)
      for (const index of order) expect(calls[index]?.arguments).toEqual(readings[index])
      for (const [index, call] of calls.entries())
        expect(JSON.stringify(call.arguments)).toBe(JSON.stringify(readings[index]))
    }
  })

  it("does not show in an older moment what came later, also for a value that somebody holds", () => {
    const calls = snapshots(...deltas)
    const held = calls[1]?.arguments
    const before = JSON.stringify(held)
    expect(calls[3]?.arguments).toEqual(readings[3])
    expect(JSON.stringify(held)).toBe(before)
  })

  it("shows what is in its values as it was at its moment, also where a key comes again", () => {
    const calls = snapshots('{"a":{"k":1,"l":[1', ",2", '],"k":{"x":', '[3,{"y"', ":4}]}", ',"k":5}}')
    const held = calls.map((call) => call.arguments)
    expect(held).toEqual([
      { a: { k: 1, l: [1] } },
      { a: { k: 1, l: [1, 2] } },
      { a: { k: {}, l: [1, 2] } },
      { a: { k: { x: [3, {}] }, l: [1, 2] } },
      { a: { k: { x: [3, { y: 4 }] }, l: [1, 2] } },
      { a: { k: 5, l: [1, 2] } }
    ])
    for (const value of held) expect(structuredClone(value)).toEqual({ ...(value as object) })
  })

  it("copies nothing of a list where nobody looks at it", () => {
    const text = new ArgumentText()
    text.append('{"list":[')
    let copied = 0
    for (let i = 0; i < 100; i++) {
      text.append(`${i},`)
      const value = text.read(text.length) as { readonly list: ReadonlyArray<number> }
      if (i % 10 === 9) copied += value.list.length
    }
    expect(copied).toBe(550)
    const descriptor = Object.getOwnPropertyDescriptor(text.read(text.length), "list")
    expect(descriptor?.get).toBeTypeOf("function")
  })

  it("is plain in a spread, a structured clone, JSON and a comparison", () => {
    for (const [index, call] of snapshots(...deltas).entries()) {
      const plain = { type: "toolCall", id: "id", name: "name", arguments: readings[index] }
      expect({ ...call }).toEqual(plain)
      expect(Object.getOwnPropertyDescriptor({ ...call }, "arguments")?.get).toBeUndefined()
      expect(structuredClone({ call })).toEqual({ call: plain })
      expect(JSON.stringify(call)).toBe(JSON.stringify(plain))
      expect(call).toEqual(plain)
      expect(plain).toEqual(call)
      expect(Object.keys(call)).toEqual(["type", "id", "name", "arguments"])
      expect(Object.assign({}, call)).toEqual(plain)
    }
  })

  it("cannot be written to", () => {
    const [call] = snapshots(...deltas)
    expect(() => Object.assign(call!, { arguments: 1 })).toThrow(TypeError)
  })

  it("with a member __proto__ changes no prototype", () => {
    const call = snapshots(...deltas)[3]
    expect(Object.getPrototypeOf(call?.arguments)).toBe(Object.prototype)
    expect(Object.keys(call?.arguments as object)).toEqual(["path", "list", "__proto__"])
    const open = readTolerant('{"__proto__":{"x":1},"y":{"__proto__":')
    expect(JSON.stringify(open)).toBe('{"__proto__":{"x":1},"y":{}}')
    expect(({} as { readonly x?: number }).x).toBeUndefined()
  })
})

describe("a finished call", () => {
  const base = { type: "toolCall", id: "i", name: "n" }

  it.each(["", " ", "\n\t "])("with the text %j has {} for arguments", (text) => {
    expect(finishCall("i", "n", text)).toEqual({ ...base, arguments: {} })
  })

  it.prop("with valid JSON has its value, of any type", [Schema.Json], ([value]) => {
    const text = JSON.stringify(value)
    expect(finishCall("i", "n", text)).toEqual({ ...base, arguments: JSON.parse(text) })
  })

  it.each(['{"a":1', '{"a":1}x', "nope", '{"a":"x\n"}'])(
    "with the text %j keeps it beside its tolerant reading",
    (text) => {
      expect(finishCall("i", "n", text)).toEqual({ ...base, arguments: readTolerant(text), rawArguments: text })
    }
  )
})
