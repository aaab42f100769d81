/** Formats JSON log lines for terminals: `12:03:07.123 INFO listening port=8080`. Pipes get the JSON unchanged. */
import { type Paint, sanitiseForTerminal } from "./terminal-text.ts";

const LEVELS: Record<number, [name: string, colour: keyof Paint]> = {
  10: ["TRACE", "dim"],
  20: ["DEBUG", "dim"],
  30: ["INFO", "good"],
  40: ["WARN", "warn"],
  50: ["ERROR", "bad"],
  60: ["FATAL", "bad"],
};
const LEVEL_WIDTH = 5;

/** Formats one line of a JSON log. Text that is not JSON is returned unchanged. */
export function formatLogLine(line: string, paint: Paint): string {
  const entry = parsed(line);
  if (entry === undefined) return line;
  const { level, time, msg, err, ...rest } = entry;
  const [name, colour] = LEVELS[Number(level)] ?? [String(level ?? ""), "dim"];
  const at = typeof time === "string" ? time.slice(11, 23) : "";
  const fields = Object.entries(rest).map(([key, value]) => `${paint.dim(`${key}=`)}${valueText(value)}`);
  const words = [
    paint.dim(at),
    paint[colour](name.padEnd(LEVEL_WIDTH)),
    sanitiseForTerminal(String(msg ?? "")),
    ...fields,
  ];
  return [words.filter((word) => word !== "").join(" "), ...errorLines(err, paint)].join("\n");
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function valueText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[^\s"=]+$/.test(text)
    ? sanitiseForTerminal(text)
    : typeof value === "string"
      ? JSON.stringify(value)
      : sanitiseForTerminal(text);
}

/** Formats an error's stack, which is printed below the log line. */
function errorLines(err: unknown, paint: Paint): string[] {
  if (typeof err !== "object" || err === null) return [];
  const { type, message, stack } = err as { type?: string; message?: string; stack?: string };
  const lines = (stack ?? `${type ?? "Error"}: ${message ?? ""}`).split("\n");
  return lines.map((line) => paint.dim(`    ${sanitiseForTerminal(line)}`));
}

/** A destination for a JSON logger that writes readable lines. */
export function makeReadableLogStream(
  out: { write(text: string): unknown },
  paint: Paint,
): { write(line: string): void } {
  return { write: (line) => void out.write(`${formatLogLine(line.trimEnd(), paint)}\n`) };
}
