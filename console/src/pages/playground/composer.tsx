/** Where the next message is written; what it will reserve is said before it is sent. */
import { useQuery } from "@tanstack/react-query";
import { ArrowUp, Square } from "lucide-react";
import type { Quote, QuoteRequest, Rate } from "../../api/types.ts";
import { balanceQuery } from "../../data/money.ts";
import { quoteQuery } from "../../data/quote.ts";
import { parseMicro } from "../../money.ts";
import { Button } from "../../ui/button.tsx";
import { useDebounced } from "../../ui/debounce.ts";
import { Money } from "../../ui/money.tsx";
import { Count } from "../../ui/time.tsx";
import { holdOf } from "./hold.ts";
import { requestBody, type Settings } from "./settings.ts";
import { type Chat, saidIn } from "./use-chat.ts";

interface Props {
  draft: string;
  onDraft: (draft: string) => void;
  onSend: () => void;
  chat: Chat;
  settings: Settings;
  model: Rate;
  /** A setting is wrong. */
  blocked: boolean;
}

export function Composer({ draft, onDraft, onSend, chat, settings, model, blocked }: Props) {
  const ready = draft.trim() !== "" && !chat.running && !blocked;
  return (
    <form
      className="flex flex-col gap-2 border-t border-line p-3 sm:p-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) onSend();
      }}
    >
      <textarea
        aria-label="Message"
        aria-describedby="playground-hold"
        rows={3}
        value={draft}
        placeholder="Ask something…"
        onChange={({ target }) => onDraft(target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          event.currentTarget.form?.requestSubmit();
        }}
        className="min-h-18 w-full resize-y rounded-md border border-line-strong/60 bg-surface px-3 py-2 text-base leading-relaxed placeholder:text-ink-soft/80 sm:text-sm"
      />
      <div className="flex items-center justify-between gap-3">
        <p id="playground-hold" className="text-xs text-ink-soft">
          <Reserved {...{ draft, chat, settings, model }} />{" "}
          <span className="hidden sm:inline">Enter sends, Shift+Enter starts a new line.</span>
        </p>
        {chat.running ? (
          <Button onClick={chat.stop}>
            <Square aria-hidden className="size-3.5 fill-current" />
            Stop
          </Button>
        ) : (
          <Button type="submit" look="primary" disabled={!ready}>
            <ArrowUp aria-hidden className="size-4" />
            Send
          </Button>
        )}
      </div>
    </form>
  );
}

function Reserved({ draft, chat, settings, model }: Pick<Props, "draft" | "chat" | "settings" | "model">) {
  const { data: balance } = useQuery(balanceQuery);
  const body = requestBody(settings, saidIn(chat.exchanges), draft);
  const guess = holdOf(body, model);
  const exact = useQuote(body);
  const pico = exact === undefined ? guess.pico : parseMicro(exact.hold_micro);
  const tooMuch = balance !== undefined && pico > parseMicro(balance.available_micro);
  return (
    <>
      Reserves {exact === undefined && "about "}
      <Money of={pico} /> while it runs:{" "}
      {exact !== undefined && (
        <>
          <Count of={exact.prompt_tokens} /> prompt tokens,{" "}
        </>
      )}
      up to <Count of={guess.outputTokens} /> output tokens.
      {tooMuch && <span className="text-bad"> This exceeds your available credit. Lower the max output tokens.</span>}
    </>
  );
}

/** The gateway's own count of the request as it stands; undefined until it is known, and while somebody types. */
function useQuote(body: QuoteRequest): Quote | undefined {
  const text = JSON.stringify(body);
  const paused = useDebounced(text);
  const { data } = useQuery(quoteQuery(JSON.parse(paused)));
  return paused === text ? data : undefined;
}
