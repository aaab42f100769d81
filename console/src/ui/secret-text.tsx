/** Shows a secret with a copy button. It is shown only once, so the user must copy it now. */
import { CopyButton } from "./copy.tsx";
import { useShownOnce } from "./text-shown-once.tsx";

interface Props {
  text: string;
  /** What the console calls the secret, for example "key". */
  noun: string;
  /** Focuses the copy button when it appears. */
  focused?: boolean;
}

export function SecretText({ text, noun, focused = false }: Props) {
  const onCopied = useShownOnce(noun);
  return (
    <div onCopy={onCopied} className="flex items-center gap-2 rounded-md border border-line bg-sunken p-2 pl-3">
      <code data-testid="secret" className="min-w-0 flex-1 font-mono text-xs break-all">
        {text}
      </code>
      <CopyButton text={text} label={`Copy the ${noun}`} worded focused={focused} onCopied={onCopied} />
    </div>
  );
}
