/**
 * Reading JSON that a server sent. Nothing of it is certain, and servers that are nearly right are many: what is not of the
 * kind that was looked for is read as if it were not there, without a Schema on the way of each event.
 */

export type Wire = Readonly<Record<string, unknown>>

export const isWire = (value: unknown): value is Wire =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const wireOf = (value: unknown): Wire => (isWire(value) ? value : {})

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
