/** The input for the next message, with the amount that the request will reserve. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { PriceSheetEntry, Quote, QuoteRequest } from "../../api/answer-types.ts";
import { balanceQuery } from "../../data/balance-and-usage.ts";
import { holdQuoteQuery } from "../../data/hold-quote.ts";
import { parseMicro } from "../../dollar-amounts.ts";
import { Button } from "../../ui/button.tsx";
import { useDebounced } from "../../ui/debounce.ts";
import { ArrowUp, Square } from "../../ui/icons.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { CountText } from "../../ui/time-text.tsx";
import { type Exchange, makeModelMessages } from "./answer-state.ts";
import { estimateHold } from "./estimate-hold.ts";
import { listChosenModels, makeRequestBody, type PlaygroundSettings } from "./playground-settings.ts";

interface Props {
  draft: string;
  onDraft: (draft: string) => void;
  onSend: () => void;
  onStop: () => void;
  running: boolean;
  exchanges: Exchange[];
  settings: PlaygroundSettings;
  models: PriceSheetEntry[];
  /** Whether sending is blocked, because a setting is invalid. */
  blocked: boolean;
}

export function MessageComposer({
  draft,
  onDraft,
  onSend,
  onStop,
  running,
  exchanges,
  settings,
  models,
  blocked,
}: Props) {
  const ready = draft.trim() !== "" && !running && !blocked;
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
          <Reserved {...{ draft, exchanges, settings, models }} />{" "}
          <span className="hidden sm:inline">Enter to send, Shift+Enter for a new line.</span>
        </p>
        {running ? (
          <Button onClick={onStop}>
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

interface Side {
  pico: bigint;
  exact: Quote | undefined;
  outputTokens: number;
}

function Reserved(props: Pick<Props, "draft" | "exchanges" | "settings" | "models">) {
  const { data: balance } = useQuery(balanceQuery);
  const first = useSide(props, 0);
  const second = useSide(props, 1);
  const sides = [first, second].filter((side) => side !== undefined);
  const pico = sides.reduce((sum, side) => sum + side.pico, 0n);
  const isExact = sides.every(({ exact }) => exact !== undefined);
  // Not reported if there is no credit at all, because the notice above the input already says so.
  const available = balance === undefined ? undefined : parseMicro(balance.available_micro);
  const tooMuch = available !== undefined && available > 0n && pico > available;
  return (
    <>
      Reserves {!isExact && "about "}
      <MoneyText of={pico} /> while it runs:{" "}
      {sides.length > 1 ? (
        <>two requests, </>
      ) : (
        first?.exact !== undefined && (
          <>
            <CountText of={first.exact.prompt_tokens} /> prompt tokens,{" "}
          </>
        )
      )}
      up to <CountText of={sides.reduce((sum, side) => sum + side.outputTokens, 0)} /> output tokens.
      {tooMuch && (
        <span className="text-bad">
          {" "}
          The reserved amount exceeds your available credit. Lower the max output tokens, or add{" "}
          <Link to="/credits" className="underline underline-offset-2">
            credit
          </Link>
          .
        </span>
      )}
    </>
  );
}

/**
 * Estimates the hold of the request to one model: the first (`at` 0), or the one it is compared with (`at` 1).
 * Undefined if no such model is chosen.
 */
function useSide(props: Pick<Props, "draft" | "exchanges" | "settings" | "models">, at: number): Side | undefined {
  const { draft, exchanges, settings, models } = props;
  const model = models.find(({ sku_id }) => sku_id === listChosenModels(settings)[at]);
  const body = makeRequestBody({ ...settings, model: model?.sku_id ?? "" }, makeModelMessages(exchanges, at), draft);
  const exact = useQuote(body, model !== undefined);
  if (model === undefined) return undefined;
  const guess = estimateHold(body, model);
  return {
    exact,
    outputTokens: guess.outputTokens,
    pico: exact === undefined ? guess.pico : parseMicro(exact.hold_micro),
  };
}

/** The gateway's quote for the current request; undefined until loaded and while the user types. */
function useQuote(body: QuoteRequest, enabled: boolean): Quote | undefined {
  const text = JSON.stringify(body);
  const paused = useDebounced(text);
  const isPaused = paused === text;
  const { data } = useQuery({ ...holdQuoteQuery(JSON.parse(paused)), enabled: enabled && isPaused });
  return isPaused ? data : undefined;
}
