/**
 * Where a text is in another, in time that grows with both lengths and not with their product: `indexOf` of the platform
 * is faster, but a long text that repeats itself can keep it busy for hours.
 */
export type Search = (text: string, from: number) => number

/** Up to which length the worst case of `indexOf` does no harm. */
const SHORT = 256

/** Looks for a text that is not empty. Gives -1 if it is nowhere. */
export const make = (wanted: string): Search => {
  if (wanted.length <= SHORT) return (text, from) => text.indexOf(wanted, from)
  const borders = bordersOf(wanted)
  return (text, from) => {
    let matched = 0
    for (let at = from; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      while (matched > 0 && unit !== wanted.charCodeAt(matched)) matched = borders[matched - 1]!
      if (unit === wanted.charCodeAt(matched)) matched++
      if (matched === wanted.length) return at - wanted.length + 1
    }
    return -1
  }
}

/** For each start of a text, how long the longest shorter start is that it ends with (Knuth, Morris and Pratt). */
const bordersOf = (text: string): Int32Array => {
  const borders = new Int32Array(text.length)
  for (let at = 1, length = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (length > 0 && unit !== text.charCodeAt(length)) length = borders[length - 1]!
    if (unit === text.charCodeAt(length)) length++
    borders[at] = length
  }
  return borders
}
