/** One answer: its reasoning apart, its text, how it ended, and what it cost. */
import { Brain } from "lucide-react";
import type { Rate } from "../../api/types.ts";
import { Problem } from "../../ui/form.tsx";
import { type Answer, isOver } from "./answer.ts";
import { AnswerCost } from "./answer-cost.tsx";

export function AnswerView({ answer, model }: { answer: Answer; model: Rate | undefined }) {
  const { text, reasoning, state, fault, finish } = answer;
  return (
    <div aria-busy={!isOver(answer)} className="flex max-w-full min-w-0 flex-col gap-3">
      <h2 className="sr-only">{answer.model}</h2>
      {reasoning !== "" && (
        <details className="rounded-md border border-line">
          <summary className="flex items-center gap-2 px-3 py-2 text-xs font-medium text-ink-soft">
            <Brain aria-hidden className="size-4" />
            Reasoning
          </summary>
          <p className="border-t border-line px-3 py-2.5 break-words whitespace-pre-wrap text-ink-soft">{reasoning}</p>
        </details>
      )}
      {text !== "" && (
        <p data-testid="answer" className="leading-relaxed break-words whitespace-pre-wrap">
          {text}
          {state === "streaming" && <Cursor />}
        </p>
      )}
      {text === "" && !isOver(answer) && (
        <p className="text-ink-soft">
          {state === "waiting" ? "Waiting for the model" : "Generating"}
          <Cursor />
        </p>
      )}
      {fault !== undefined && (
        <div role="alert">
          <Problem>
            {fault.message}
            {fault.code !== undefined && <code className="ml-1.5 font-mono text-xs">{fault.code}</code>}
          </Problem>
        </div>
      )}
      {finish === "length" && (
        <p className="text-xs text-warn">Stopped at the max output tokens. Raise the limit for a longer answer.</p>
      )}
      <div role="status">{isOver(answer) && <AnswerCost answer={answer} model={model} />}</div>
    </div>
  );
}

const Cursor = () => (
  <span aria-hidden className="ml-0.5 inline-block h-4 w-1.5 animate-breathe bg-accent align-text-bottom" />
);
