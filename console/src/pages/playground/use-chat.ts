/** The conversation: what was asked, what is being answered. Lives as long as the page. */
import { useEffect, useRef, useState } from "react";
import { ApiFault, sentenceOf } from "../../api/fault.ts";
import { type Answer, endAnswer, failAnswer, isOver, newAnswer, stopAnswer, takeChunk } from "./answer.ts";
import { type Message, requestBody, type Settings } from "./settings.ts";
import { streamChat } from "./stream-chat.ts";

export interface Exchange {
  id: number;
  question: string;
  answer: Answer;
}

export interface Chat {
  exchanges: Exchange[];
  running: boolean;
  send: (question: string, settings: Settings, apiKey: string) => void;
  stop: () => void;
  clear: () => void;
}

export function useChat(): Chat {
  const [exchanges, setExchanges] = useState<Exchange[]>([]);
  const abort = useRef<AbortController>(null);
  // Who leaves the page wants no more of the answer, and pays for no more of it.
  useEffect(() => () => abort.current?.abort(), []);
  const last = exchanges.at(-1);
  const running = last !== undefined && !isOver(last.answer);

  const send = (question: string, settings: Settings, apiKey: string): void => {
    const over = new AbortController();
    abort.current = over;
    const id = (last?.id ?? 0) + 1;
    const first = newAnswer(settings.model, performance.now());
    const show = (answer: Answer): void =>
      setExchanges((all) => all.map((exchange) => (exchange.id === id ? { ...exchange, answer } : exchange)));
    setExchanges((all) => [...all, { id, question, answer: first }]);
    void follow({ answer: first, body: requestBody(settings, saidIn(exchanges), question), apiKey, over, show });
  };
  return {
    exchanges,
    running,
    send,
    stop: () => abort.current?.abort(),
    clear: () => {
      abort.current?.abort();
      setExchanges([]);
    },
  };
}

/** What was said so far. Of an exchange without any answer nothing is repeated. */
export const saidIn = (exchanges: Exchange[]): Message[] =>
  exchanges
    .filter(({ answer }) => answer.text !== "")
    .flatMap(({ question, answer }) => [
      { role: "user", content: question },
      { role: "assistant", content: answer.text },
    ]);

interface Following {
  answer: Answer;
  body: object;
  apiKey: string;
  over: AbortController;
  show: (answer: Answer) => void;
}

/** A fast node sends thousands of chunks a second; the page is drawn once a frame. */
async function follow({ answer: first, body, apiKey, over, show }: Following): Promise<void> {
  let answer = first;
  let frame = 0;
  const showSoon = (): void => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      show(answer);
    });
  };
  try {
    await streamChat({
      apiKey,
      body,
      signal: over.signal,
      onBegin: (requestId) => {
        answer = { ...answer, requestId };
      },
      onChunk: (chunk) => {
        answer = takeChunk(answer, chunk, performance.now());
        showSoon();
      },
    });
    answer = endAnswer(answer, performance.now());
  } catch (error) {
    const now = performance.now();
    const refused = error instanceof ApiFault;
    const fault = { message: sentenceOf(error), code: refused ? error.code : undefined, refused };
    answer = over.signal.aborted ? stopAnswer(answer, now) : failAnswer(answer, fault, now);
  }
  cancelAnimationFrame(frame);
  show(answer);
}
