/** One answer: its reasoning, text, finish state and cost. */

import type { PriceSheetEntry } from "../../api/answer-types.ts";
import { IconButton } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Brain, RotateCcw } from "../../ui/icons.tsx";
import { AnswerCost } from "./answer-cost.tsx";
import { AnswerFault } from "./answer-fault.tsx";
import { type Answer, isAnswerOver, isThinking } from "./answer-state.ts";
import { AnswerText, TypingCursor } from "./answer-text.tsx";
import type { ChatState } from "./stored-chat.ts";

interface Props {
  answer: Answer;
  model: PriceSheetEntry | undefined;
  view: ChatState["view"];
  /** Whether this is one of two compared answers. Each of them has its model's name above it. */
  compared: boolean;
  /** Generates the answer again; only set for the last answer. */
  onRegenerate: (() => void) | undefined;
}

export function AnswerView({ answer, model, view, compared, onRegenerate }: Props) {
  const { text, reasoning, state, fault, finish } = answer;
  const over = isAnswerOver(answer);
  return (
    <div aria-busy={!over} className="flex max-w-full min-w-0 flex-col gap-3">
      <h2 className={compared ? "border-b border-line pb-1.5 font-mono text-xs font-medium text-ink-soft" : "sr-only"}>
        {answer.model}
      </h2>
      {reasoning !== "" && (
        // The reasoning is open until the answer's text begins.
        <details open={isThinking(answer)} className="rounded-md border border-line">
          <summary className="flex items-center gap-2 px-3 py-2 text-xs font-medium text-ink-soft">
            <Brain aria-hidden className="size-4" />
            Reasoning
          </summary>
          <p className="border-t border-line px-3 py-2.5 break-words whitespace-pre-wrap text-ink-soft">{reasoning}</p>
        </details>
      )}
      {text !== "" && <AnswerText answer={answer} view={view} />}
      {text === "" && !over && (
        <p className="text-ink-soft">
          {state === "waiting" ? "Waiting for the model" : "Generating"}
          <TypingCursor />
        </p>
      )}
      {fault !== undefined && <AnswerFault fault={fault} onAgain={onRegenerate} />}
      {finish === "length" && (
        <p className="text-xs text-warn">Stopped at the max output tokens. Raise the limit for a longer answer.</p>
      )}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <div role="status" className="min-w-0">
          {over && <AnswerCost answer={answer} model={model} />}
        </div>
        {over && (
          <div className="-my-1 -ml-2 flex">
            {text !== "" && <CopyButton text={text} label={`Copy the answer of ${answer.model}`} />}
            {onRegenerate !== undefined && (
              <IconButton label="Regenerate" onClick={onRegenerate}>
                <RotateCcw aria-hidden className="size-4" />
              </IconButton>
            )}
          </div>
        )}
      </div>
    </div>
  );
}
