/**
 * Reads the events of a stream. Most events differ from the previous one only in their text. For these, only the text
 * is read: an event with the same beginning and end as a parsed one, and a JSON string in between, is the same event
 * with another text. All other events are parsed.
 *
 * The result is the same as that of parsing, because the position of the text was verified: an event with a probe text
 * in that position was parsed as the same event with the probe text. So the position is that of a whole value, and no
 * other field depends on it.
 *
 * llama.cpp's server writes a timestamp into every event (`created`, in seconds). Events that differ only in text and
 * timestamp are also read without parsing, if the timestamp has no effect on the parsed event.
 */
import { parseJson } from "../read-response-body.ts";
import { EngineError } from "./engine.ts";
import type { StreamEvent } from "./profiles/engine-profile.ts";

/** A text that no engine writes, to test where an event contains its text. */
const PROBE = "\u0001 a text of our own";
/** Text without escape sequences. */
const PLAIN = /^[^"\\\p{Cc}]+$/u;
/** Finds llama.cpp's timestamp. An unescaped quote before a colon ends a key, so this cannot match within a text. */
const SECOND = /(?<="created":)[1-9]\d{9}(?=[,}])/;
const OTHER_SECOND = "1000000007";
/**
 * A short text may occur several times in its event. The reader tries at most this many occurrences, and then waits for
 * an event whose text is easier to locate.
 */
const PLACES_MAX = 4;

interface Pattern {
  /** The event up to its text, including the opening quote. */
  before: string;
  after: string;
  /** Whether the parts around the text contain no timestamp that may change. */
  isTimeless: boolean;
  field: "answer" | "thinking";
  event: StreamEvent;
}

export class StreamEventReader {
  readonly #parse: (data: string) => StreamEvent;
  #pattern: Pattern | undefined;

  /** `parse` parses any event. It throws EngineError. */
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

  /** Whether another text between `before` and `after` changes only the expected field of the event. */
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

/**
 * Whether the parts of the event around its text differ from the known ones only in the Unix timestamp. If so, the
 * known parts get the new timestamp.
 */
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

/** Returns the text of an event. Undefined if it is empty or the event does not match. */
function textBetween(data: string, { before, after }: Pattern): string | undefined {
  const end = data.length - after.length;
  if (end <= before.length || !data.startsWith(before) || !data.endsWith(after)) return undefined;
  const raw = data.slice(before.length, end);
  if (PLAIN.test(raw)) return raw;
  const text = parseJson(`"${raw}"`);
  return typeof text === "string" ? text : undefined;
}
