/**
 * Reads the events of a stream, most of which differ from the previous one only in their text. Then only the text is read: an event with
 * the same beginning and end as one that was parsed, and a JSON string in between, is the same event with another text. All other events
 * are parsed. llama.cpp's server writes the second into every event (`created`); another second makes no difference. This is exact because
 * the text's position was verified: with a text of our own in that position, the event parsed as the same event with our text. So the
 * beginning leads to a value, not into a string, and nothing else can change.
 */
import { parseJson } from "../http-body.ts";
import { EngineError } from "./engine.ts";
import type { StreamEvent } from "./profiles/profile.ts";

/** A text that no engine writes. */
const PROBE = "\u0001 a text of our own";
/** Text without escapes. */
const PLAIN = /^[^"\\\p{Cc}]+$/u;
/** An unescaped quote before a colon ends a key, so this cannot be within a text. */
const SECOND = /(?<="created":)[1-9]\d{9}(?=[,}])/;
const OTHER_SECOND = "1000000007";
/** If a short text occurs too often in its event, a later event is used. */
const PLACES_MAX = 4;

interface Pattern {
  /** The event up to the text, including its quote. */
  before: string;
  after: string;
  /** Neither part contains a second that can change. */
  isTimeless: boolean;
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
      const text = textBetween(data, known) ?? (isLater(data, known) ? textBetween(data, known) : undefined);
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
      const expected = { ...event, [field]: PROBE };
      if (this.#isPlace(before, after, expected)) {
        const [earlier, later] = [before, after].map((part) => part.replace(SECOND, OTHER_SECOND)) as [string, string];
        const hasSecond = earlier !== before || later !== after;
        const isTimeless = !hasSecond || !this.#isPlace(earlier, later, expected);
        this.#pattern = { before, after, isTimeless, field, event };
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

/** Whether the event has the known beginning and end except for the second, which is then updated. */
function isLater(data: string, known: Pattern): boolean {
  if (known.isTimeless) return false;
  const before = data.slice(0, known.before.length);
  const after = data.slice(data.length - known.after.length);
  if (!isSameButSecond(before, known.before) || !isSameButSecond(after, known.after)) return false;
  known.before = before;
  known.after = after;
  return true;
}

function isSameButSecond(part: string, known: string): boolean {
  if (part === known) return true;
  const at = known.search(SECOND);
  const end = at + OTHER_SECOND.length;
  const isSame = at !== -1 && part.startsWith(known.slice(0, at)) && part.endsWith(known.slice(end));
  return isSame && part.search(SECOND) === at;
}

/** Undefined for a missing or empty text. */
function textBetween(data: string, { before, after }: Pattern): string | undefined {
  const end = data.length - after.length;
  if (end <= before.length || !data.startsWith(before) || !data.endsWith(after)) return undefined;
  const raw = data.slice(before.length, end);
  if (PLAIN.test(raw)) return raw;
  const text = parseJson(`"${raw}"`);
  return typeof text === "string" ? text : undefined;
}
