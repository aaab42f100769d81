/** One cell of a CSV file. */

/** Quoted where it must be. A cell that a spreadsheet would take for a formula gets an apostrophe, as they advise. */
export function csvCell(value: string | number | null | undefined): string {
  const text = String(value ?? "");
  const safe = typeof value === "string" && /^[=+@\t\r-]/.test(text) && !/^-?[\d.]+$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
