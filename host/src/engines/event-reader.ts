/**
 * Reads the events of one stream, most of which differ from the one before in the text alone. Where that is so, the text is
 * all that is read: an event whose beginning and end are those of one that was parsed, with a JSON string between them, is
 * that event with another text. Everything else is parsed.
 *
 * Why this is exact: the place of the text was tried with a text of our own, and the event parsed as the same event with that
 * text. So the beginning leads up to a value, and not into the middle of a string; any other string there is read as the
 * value of the same field, and nothing else of the event can change.
 */
import { parseJson } from "../http-body.ts";
import { EngineError } from "./engine.ts";
import type { StreamEvent } from "./profiles/profile.ts";

/** No engine says this. */
const PROBE = "\u0001 a text of our own";
/** Nothing in it stands for something else. */
const PLAIN = /^[^"\\\p{Cc}]+$/u;
/** Where a short text is found too often in its event, the next one will do. */
const PLACES_MAX = 4;

interface Pattern {
  /** Up to the text, its quotes included. */
  before: string;
  after: string;
  field: "answer" | "thinking";
  event: StreamEvent;
}

export class EventReader {
  readonly #parse: (data: string) => StreamEvent;
  #pattern: Pattern | undefined;

  /** `parse`: reads any event. Throws EngineError. */
  constructor(parse: (data: string) => StreamEvent) {
    this.#parse = parse;
  }

  read(data: string): StreamEvent {
    const known = this.#pattern;
    if (known !== undefined) {
      const text = textBetween(data, known);
      if (text !== undefined) return { ...known.event, [known.field]: text };
    }
    const event = this.#parse(data);
    this.#learn(data, event);
    return event;
  }

  #learn(data: string, event: StreamEvent): void {
    const { answer, thinking } = event;
    const text = answer ?? thinking;
    if (text === undefined || (answer !== undefined && thinking !== undefined)) return;
    const field = answer === undefined ? "thinking" : "answer";
    const literal = JSON.stringify(text);
    let at = data.indexOf(literal);
    for (let places = 0; at !== -1 && places < PLACES_MAX; places++) {
      const before = data.slice(0, at + 1);
      const after = data.slice(at + literal.length - 1);
      if (this.#isPlace(before, after, { ...event, [field]: PROBE })) {
        this.#pattern = { before, after, field, event };
        return;
      }
      at = data.indexOf(literal, at + 1);
    }
  }

  /** Whether a text between these two makes exactly that event. */
  #isPlace(before: string, after: string, expected: StreamEvent): boolean {
    try {
      const event = this.#parse(before + JSON.stringify(PROBE).slice(1, -1) + after);
      const keys = new Set([...Object.keys(event), ...Object.keys(expected)]) as Set<keyof StreamEvent>;
      return [...keys].every((key) => event[key] === expected[key]);
    } catch (error) {
      if (error instanceof EngineError) return false;
      throw error;
    }
  }
}

/** Undefined where there is none, or an empty one: that is no text of an event. */
function textBetween(data: string, { before, after }: Pattern): string | undefined {
  const end = data.length - after.length;
  if (end <= before.length || !data.startsWith(before) || !data.endsWith(after)) return undefined;
  const raw = data.slice(before.length, end);
  if (PLAIN.test(raw)) return raw;
  const text = parseJson(`"${raw}"`);
  return typeof text === "string" ? text : undefined;
}
