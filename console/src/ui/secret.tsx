/** Shows a secret with a copy button. It is shown only once, so the user must copy it now. */
import { CopyButton } from "./copy.tsx";

interface Props {
  text: string;
  /** The copy button's name, for example "Copy the key". */
  label: string;
  /** Focuses the copy button when it appears. */
  focused?: boolean;
}

export function Secret({ text, label, focused = false }: Props) {
  return (
    <div className="flex items-center gap-2 rounded-md border border-line bg-sunken p-2 pl-3">
      <code data-testid="secret" className="min-w-0 flex-1 font-mono text-xs break-all">
        {text}
      </code>
      <CopyButton text={text} label={label} worded focused={focused} />
    </div>
  );
}
