/** The exchanges so far, the newest at the bottom and in view. */
import { MessageSquare } from "lucide-react";
import { useEffect, useRef } from "react";
import type { Rate } from "../../api/types.ts";
import { Empty } from "../../ui/states.tsx";
import { AnswerView } from "./answer-view.tsx";
import type { Exchange } from "./use-chat.ts";

/** Who has scrolled further up than this is reading, and is left there. */
const NEAR_END_PX = 120;

export function Conversation({ exchanges, models }: { exchanges: Exchange[]; models: Rate[] }) {
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
        <Empty icon={<MessageSquare aria-hidden />} title="No messages yet">
          Each answer shows its tokens and its cost.
        </Empty>
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
        // A fast answer has grown further by the time of this event: only who went up has left the end.
        if (near || scrollTop < top.current) atEnd.current = near;
        top.current = scrollTop;
      }}
      className="relative flex h-[55dvh] min-h-72 flex-col gap-7 overflow-y-auto px-4 py-5 sm:px-5"
    >
      {exchanges.map(({ id, question, answer }) => (
        <article key={id} className="flex flex-col gap-4">
          <div className="ml-auto max-w-[85%] rounded-xl rounded-br-sm bg-accent-soft px-3.5 py-2.5">
            <h2 className="sr-only">You</h2>
            <p className="break-words whitespace-pre-wrap">{question}</p>
          </div>
          <AnswerView answer={answer} model={models.find(({ sku_id }) => sku_id === answer.model)} />
        </article>
      ))}
    </section>
  );
}
