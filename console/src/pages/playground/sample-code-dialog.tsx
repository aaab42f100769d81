/** A dialog that shows the conversation as sample code for a program. */
import { makeSnippets } from "../../request-snippets.ts";
import { CodeTabs } from "../../ui/code.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { type Exchange, makeModelMessages } from "./answer-state.ts";
import { makeRequestBody, type PlaygroundSettings } from "./playground-settings.ts";

const PLACEHOLDER = "tsk_live_YOUR_KEY";
const EXAMPLE = "Tell me a story about a fox";

interface Props {
  open: boolean;
  onClose: () => void;
  settings: PlaygroundSettings;
  draft: string;
  exchanges: Exchange[];
}

export function SampleCodeDialog({ open, onClose, settings, draft, exchanges }: Props) {
  // Uses the draft if there is one, otherwise repeats the last question.
  const last = exchanges.at(-1);
  const [said, next] = draft.trim() !== "" ? [exchanges, draft] : [exchanges.slice(0, -1), last?.question ?? EXAMPLE];
  const body = { ...makeRequestBody(settings, makeModelMessages(said), next), stream: true };
  return (
    <Dialog
      open={open}
      onClose={onClose}
      wide
      title="Copy as code"
      about="The same request from a program. Replace the placeholder with your key."
    >
      <CodeTabs
        label="Language"
        snippets={makeSnippets({ baseUrl: `${location.origin}/v1`, apiKey: PLACEHOLDER, body })}
      />
    </Dialog>
  );
}
