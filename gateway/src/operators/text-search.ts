/** Looking for a part of a text, in PostgreSQL's `ilike`. */

/** Null where nothing is looked for. What are wildcards to the database are plain characters to people. */
export const partOf = (text: string | undefined): string | null =>
  text === undefined ? null : `%${text.replace(/[\\%_]/g, "\\$&")}%`;
