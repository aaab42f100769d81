/** The exchanges so far. The newest is at the bottom and is scrolled into view. */

import { useEffect, useRef } from "react";
import type { PriceSheetEntry } from "../../api/answer-types.ts";
import { MessageSquare } from "../../ui/icons.tsx";
import { EmptyState } from "../../ui/loading-states.tsx";
import { AnswerView } from "./answer-view.tsx";
import { QuestionView } from "./question-view.tsx";
import type { ChatState } from "./stored-chat.ts";

/** A user who has scrolled up by more than this many pixels is reading, so the page does not scroll. */
const NEAR_END_PX = 120;

interface Props {
  chat: Pick<ChatState, "exchanges" | "view" | "dropped">;
  models: PriceSheetEntry[];
  /** Called to edit a question; undefined while nothing can be sent. */
  onEdit: ((id: number, question: string) => void) | undefined;
  onRegenerate: (() => void) | undefined;
}

export function Conversation({ chat: { exchanges, view, dropped }, models, onEdit, onRegenerate }: Props) {
  const box = useRef<HTMLElement>(null);
  const atEnd = useRef(true);
  const top = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever something was added
  useEffect(() => {
    if (atEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [exchanges]);
  if (exchanges.length === 0) {
    return (
      <div className="flex h-[55dvh] min-h-72 items-center justify-center">
        <EmptyState icon={<MessageSquare aria-hidden />} title="No messages yet">
          Each answer shows its tokens and its cost.
        </EmptyState>
      </div>
    );
  }
  return (
    <section
      ref={box}
      aria-label="Messages"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        const near = scrollTop + clientHeight > scrollHeight - NEAR_END_PX;
        // A growing answer also changes the distance to the end, so only scrolling up counts as leaving the end.
        if (near || scrollTop < top.current) atEnd.current = near;
        top.current = scrollTop;
      }}
      className="relative flex h-[55dvh] min-h-72 flex-col gap-7 overflow-y-auto px-4 py-5 sm:px-5"
    >
      {dropped > 0 && (
        <p className="text-xs text-ink-soft">
          Older messages were dropped because the tab's storage is full. They are no longer sent to the model.
        </p>
      )}
      {exchanges.map(({ id, question, answers }, at) => {
        const isLast = at === exchanges.length - 1;
        return (
          <article key={id} className="@container flex flex-col gap-4">
            <QuestionView question={question} followed={!isLast} onEdit={onEdit && ((next) => onEdit(id, next))} />
            <div className={answers.length > 1 ? "grid items-start gap-x-5 gap-y-6 @xl:grid-cols-2" : "contents"}>
              {answers.map((answer, side) => (
                <AnswerView
                  // biome-ignore lint/suspicious/noArrayIndexKey: a side stays where it is
                  key={side}
                  answer={answer}
                  view={view}
                  compared={answers.length > 1}
                  model={models.find(({ sku_id }) => sku_id === answer.model)}
                  onRegenerate={isLast ? onRegenerate : undefined}
                />
              ))}
            </div>
          </article>
        );
      })}
    </section>
  );
}
