/**
 * Converts the conversation to the text that this browser tab stores across reloads and sign-ins, and back. The text
 * belongs to one person and one account, has a size limit and is never sent anywhere. Pure: the caller reads and writes
 * the storage.
 */
import { type Answer, type Exchange, isAnswerOver, stopAnswer } from "./answer-state.ts";
import { type PlaygroundSettings, readSettings } from "./playground-settings.ts";

export interface ChatState {
  exchanges: Exchange[];
  draft: string;
  settings: PlaygroundSettings;
  view: "markdown" | "text";
  /** The number of oldest exchanges that were dropped because of the size limit. */
  dropped: number;
}

/** The person and the account to which the conversation belongs. */
export interface ChatOwner {
  person: string;
  account: string;
}

/** The size limit in characters. Browsers store about five million characters per site. */
export const STORED_CHARS_MAX = 1_000_000;
const VERSION = 1;

export function serializeChat(state: ChatState, whose: ChatOwner): string {
  const { draft, settings, view } = state;
  const exchanges = state.exchanges.map((one) => ({ ...one, answers: one.answers.map(interrupt) }));
  const kept = newestWithin(exchanges, STORED_CHARS_MAX - JSON.stringify({ draft, settings }).length);
  const dropped = state.dropped + exchanges.length - kept.length;
  return JSON.stringify({ version: VERSION, ...whose, exchanges: kept, draft, settings, view, dropped });
}

/** Marks an unfinished answer as interrupted, because it cannot continue after a reload. */
const interrupt = (answer: Answer): Answer =>
  isAnswerOver(answer) ? answer : { ...stopAnswer(answer, answer.firstAtMs ?? answer.sentAtMs), interrupted: true };

function newestWithin(exchanges: Exchange[], chars: number): Exchange[] {
  let left = chars;
  let from = exchanges.length;
  while (from > 0) {
    left -= JSON.stringify(exchanges[from - 1]).length + 1;
    if (left < 0) break;
    from -= 1;
  }
  return exchanges.slice(from);
}

/**
 * Restores a conversation. Returns undefined if none is stored, or if it is invalid or of another person or account.
 */
export function restoreChat(text: string | null, { person, account }: ChatOwner): ChatState | undefined {
  const kept = parsed(text);
  if (kept?.version !== VERSION || kept.person !== person || kept.account !== account) return undefined;
  const { exchanges, draft, settings, view, dropped } = kept;
  if (!Array.isArray(exchanges) || !exchanges.every(isExchange)) return undefined;
  return {
    exchanges,
    draft: typeof draft === "string" ? draft : "",
    settings: readSettings(settings),
    view: view === "text" ? "text" : "markdown",
    dropped: typeof dropped === "number" ? dropped : 0,
  };
}

function parsed(text: string | null): Record<string, unknown> | undefined {
  try {
    const kept: unknown = JSON.parse(text ?? "null");
    return typeof kept === "object" && kept !== null ? (kept as Record<string, unknown>) : undefined;
  } catch {
    // The stored text is not valid JSON, so the conversation starts empty.
    return undefined;
  }
}

function isExchange(one: unknown): one is Exchange {
  const { id, question, answers } = (one ?? {}) as Partial<Exchange>;
  const isAnswer = (answer: Partial<Answer> | null): boolean =>
    typeof answer?.text === "string" && typeof answer.model === "string" && typeof answer.reasoning === "string";
  return typeof id === "number" && typeof question === "string" && Array.isArray(answers) && answers.every(isAnswer);
}
