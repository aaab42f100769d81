/** Writes JSON as unusual clients do: numbers that no double can represent, duplicate keys, needless escapes. */
import type { SeededChoices } from "./seeded-choices.ts";

/** A JSON value that is written as exactly this text. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

interface JsonStyle {
  /** The share of a string's characters that are written as \\uXXXX. */
  escapes: number;
  /** Adds white space between tokens. */
  spaced: boolean;
  /** Writes some keys twice, the first time with another value. */
  twice: boolean;
}

const PLAIN: JsonStyle = { escapes: 0, spaced: false, twice: false };

export function drawJsonStyle(random: SeededChoices): JsonStyle {
  if (random.chance(0.6)) return PLAIN;
  return { escapes: random.pick([0, 0.1, 1]), spaced: random.chance(0.5), twice: random.chance(0.3) };
}

export function writeJson(value: unknown, style: JsonStyle = PLAIN, random?: SeededChoices): string {
  const gap = (): string => (style.spaced && random !== undefined ? random.pick(["", " ", "\n", "\t", "\r\n  "]) : "");
  const text = (value: string): string => {
    const plain = JSON.stringify(value);
    if (style.escapes === 0 || random === undefined) return plain;
    const units = Array.from({ length: value.length }, (_, i) =>
      random.chance(style.escapes) ? escaped(value.charCodeAt(i)) : JSON.stringify(value[i]).slice(1, -1),
    );
    return `"${units.join("")}"`;
  };
  const write = (value: unknown): string => {
    if (value instanceof RawJson) return value.text;
    if (typeof value === "string") return text(value);
    if (Array.isArray(value)) return `[${value.map((element) => gap() + write(element) + gap()).join(",")}]`;
    if (typeof value === "object" && value !== null) {
      const members = Object.entries(value).flatMap(([key, member]) => {
        const pair = `${gap()}${text(key)}${gap()}:${gap()}${write(member)}${gap()}`;
        const again = style.twice && random?.chance(0.4) === true;
        return again ? [`${text(key)}:${random.pick(["null", "0", '"x"', "[]", "{}"])}`, pair] : [pair];
      });
      return `{${members.join(",")}}`;
    }
    return JSON.stringify(value) ?? "null";
  };
  return gap() + write(value) + gap();
}

const escaped = (unit: number): string => `\\u${unit.toString(16).padStart(4, "0")}`;

/** Parses JSON; returns undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
