/**
 * Holds the playground's conversation and the answer in progress. Both survive when a person opens other pages of the
 * console. Each account has its own conversation, and another person starts with an empty one.
 */
import { ApiFault, errorMessage } from "../../api/api-fault.ts";
import { isTabOwnedBy } from "../../data/signed-in-session.ts";
import {
  type Answer,
  applyChunk,
  type Exchange,
  endAnswer,
  failAnswer,
  isAnswerOver,
  makeModelMessages,
  newAnswer,
  stopAnswer,
} from "./answer-state.ts";
import { withPlaygroundApiKey } from "./playground-api-key.ts";
import { DEFAULT_SETTINGS, listChosenModels, makeRequestBody, type PlaygroundSettings } from "./playground-settings.ts";
import { type ChatOwner, type ChatState, restoreChat, serializeChat } from "./stored-chat.ts";
import { ChatRefused, streamChat } from "./stream-chat.ts";

/** The storage key of an account's conversation. */
const storedAs = ({ account }: ChatOwner): string => `tollgate.playground.${account}`;
const KEEP_AFTER_MS = 400;
const LEAVING_MS = 3_000;

interface Shown extends ChatState {
  running: boolean;
  /** A message that says why the conversation would not survive a reload; undefined if it would. */
  trouble: string | undefined;
}

let current: ChatStore | undefined;

export function openChatStore(whose: ChatOwner): ChatStore {
  if (current?.whose.person === whose.person && current.whose.account === whose.account) return current;
  current?.close();
  current = new ChatStore(whose);
  return current;
}

class ChatStore {
  readonly whose: ChatOwner;
  #shown: Shown;
  #over = new AbortController();
  #keepSoon: ReturnType<typeof setTimeout> | undefined;
  /** Whether the page is being closed or reloaded, which interrupts requests in flight. */
  #leaving = false;
  readonly #listeners = new Set<() => void>();

  constructor(whose: ChatOwner) {
    this.whose = whose;
    const { kept, trouble } = readKept(whose);
    const fresh: ChatState = { exchanges: [], draft: "", settings: DEFAULT_SETTINGS, view: "markdown", dropped: 0 };
    this.#shown = { ...(kept ?? fresh), running: false, trouble };
    addEventListener("pagehide", this.#keep);
    addEventListener("beforeunload", this.#leave);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly shown = (): Shown => this.#shown;

  set(change: Partial<Pick<ChatState, "draft" | "settings" | "view">>): void {
    this.#change(change);
  }

  send(question: string, settings: PlaygroundSettings): void {
    this.#ask(this.#shown.exchanges, question, settings);
  }

  /** Sends the last question again, to the currently chosen models. */
  regenerate(settings: PlaygroundSettings): void {
    const last = this.#shown.exchanges.at(-1);
    if (last !== undefined) this.edit(last.id, last.question, settings);
  }

  /** Replaces an earlier question and continues from it. Later exchanges are dropped. */
  edit(id: number, question: string, settings: PlaygroundSettings): void {
    const at = this.#shown.exchanges.findIndex((exchange) => exchange.id === id);
    if (at !== -1) this.#ask(this.#shown.exchanges.slice(0, at), question, settings);
  }

  stop(): void {
    this.#over.abort();
  }

  clear(): void {
    this.stop();
    this.#change({ exchanges: [], dropped: 0 });
  }

  close(): void {
    this.stop();
    this.#keep();
    removeEventListener("pagehide", this.#keep);
    removeEventListener("beforeunload", this.#leave);
  }

  #ask(before: Exchange[], question: string, settings: PlaygroundSettings): void {
    if (this.#shown.running) return;
    const over = new AbortController();
    this.#over = over;
    const id = Math.max(0, ...this.#shown.exchanges.map((exchange) => exchange.id)) + 1;
    const models = listChosenModels(settings);
    const answers = models.map((model) => newAnswer(model, performance.now()));
    this.#change({ exchanges: [...before, { id, question, answers }] });
    for (const [side, first] of answers.entries()) {
      const body = makeRequestBody({ ...settings, model: first.model }, makeModelMessages(before, side), question);
      const show = (answer: Answer): void => this.#show(id, side, answer);
      void follow({ answer: first, body, account: this.whose.account, over, isLeaving: () => this.#leaving, show });
    }
  }

  /** Does nothing if the exchange was cleared or replaced while the answer arrived. */
  #show(id: number, side: number, answer: Answer): void {
    const exchanges = this.#shown.exchanges.map((exchange) =>
      exchange.id === id ? { ...exchange, answers: exchange.answers.with(side, answer) } : exchange,
    );
    this.#change({ exchanges });
  }

  #change(change: Partial<Shown>): void {
    const next = { ...this.#shown, ...change };
    this.#shown = { ...next, running: next.exchanges.at(-1)?.answers.some((answer) => !isAnswerOver(answer)) ?? false };
    for (const listener of this.#listeners) listener();
    clearTimeout(this.#keepSoon);
    this.#keepSoon = setTimeout(this.#keep, KEEP_AFTER_MS);
  }

  readonly #leave = (): void => {
    this.#leaving = true;
    // If the page is still open after this time, the user canceled leaving it.
    setTimeout(() => {
      this.#leaving = false;
    }, LEAVING_MS);
  };

  readonly #keep = (): void => {
    clearTimeout(this.#keepSoon);
    let trouble: string | undefined;
    try {
      // After a sign-out the tab belongs to no one, so nothing is stored, even while the page closes.
      if (isTabOwnedBy(this.whose.person))
        sessionStorage.setItem(storedAs(this.whose), serializeChat(this.#shown, this.whose));
    } catch (error) {
      trouble = troubleOf(error);
    }
    if (trouble === this.#shown.trouble) return;
    this.#shown = { ...this.#shown, trouble };
    for (const listener of this.#listeners) listener();
  };
}

function readKept(whose: ChatOwner): { kept: ChatState | undefined; trouble: string | undefined } {
  try {
    return { kept: restoreChat(sessionStorage.getItem(storedAs(whose)), whose), trouble: undefined };
  } catch (error) {
    return { kept: undefined, trouble: troubleOf(error) };
  }
}

const troubleOf = (error: unknown): string => `This conversation will be lost on reload: ${errorMessage(error)}`;

interface Following {
  answer: Answer;
  body: object;
  account: string;
  over: AbortController;
  isLeaving: () => boolean;
  show: (answer: Answer) => void;
}

/** Reads the stream and shows its answer, drawn once per frame: a fast node sends thousands of chunks per second. */
async function follow({ answer: first, body, account, over, isLeaving, show }: Following): Promise<void> {
  let answer = first;
  let frame = 0;
  const showSoon = (): void => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      show(answer);
    });
  };
  try {
    await withPlaygroundApiKey(account, (apiKey) =>
      streamChat({
        apiKey,
        body,
        signal: over.signal,
        onBegin: (requestId) => {
          answer = { ...answer, requestId };
        },
        onChunk: (chunk) => {
          answer = applyChunk(answer, chunk, performance.now());
          showSoon();
        },
      }),
    );
    answer = endAnswer(answer, performance.now());
  } catch (error) {
    const now = performance.now();
    if (over.signal.aborted) answer = stopAnswer(answer, now);
    else if (isLeaving()) answer = { ...stopAnswer(answer, now), interrupted: true };
    else answer = failAnswer(answer, faultFrom(error), now);
  }
  cancelAnimationFrame(frame);
  show(answer);
}

function faultFrom(error: unknown) {
  const refused = error instanceof ApiFault;
  return {
    message: errorMessage(error),
    code: refused ? error.code : undefined,
    refused,
    againAtMs: error instanceof ChatRefused ? error.againAtMs : undefined,
  };
}
