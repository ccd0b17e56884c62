/** A line of the summary's table: its value stands at the right of its column, its note behind it. */
export type Line = readonly [name: string, value: string, note?: string];
