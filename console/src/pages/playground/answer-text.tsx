/** The text of a model's answer, rendered as Markdown, formatted JSON or plain text. */
import { useMemo } from "react";
import { Code, MARKDOWN_CHARS_MAX, Markdown } from "../../ui/markdown/markdown.tsx";
import { type Answer, isAnswerOver } from "./answer-state.ts";
import { prettyJson } from "./pretty-json.ts";
import type { ChatState } from "./stored-chat.ts";

export function AnswerText({ answer, view }: { answer: Answer; view: ChatState["view"] }) {
  const { text } = answer;
  const over = isAnswerOver(answer);
  // Incomplete JSON cannot be parsed, so formatting waits for the end.
  const json = useMemo(() => (over ? prettyJson(text) : undefined), [over, text]);
  const isDrawn = view === "markdown" && text.length <= MARKDOWN_CHARS_MAX;
  return (
    <div data-testid="answer" className="min-w-0">
      {!isDrawn ? (
        <p className="leading-relaxed break-words whitespace-pre-wrap">{text}</p>
      ) : json !== undefined ? (
        <Code language="json" text={json} />
      ) : (
        <Markdown text={text} />
      )}
      {!over && <TypingCursor />}
    </div>
  );
}

export const TypingCursor = () => (
  <span aria-hidden className="ml-0.5 inline-block h-4 w-1.5 animate-breathe bg-accent align-text-bottom" />
);
