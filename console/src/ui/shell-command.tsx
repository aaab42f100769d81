/** Shell commands to copy, one per line. Long ones wrap, so that users see everything that they paste. */
import { CopyButton } from "./copy.tsx";

export function ShellCommand({ text, label }: { text: string; label: string }) {
  return (
    <div className="flex items-start gap-2 rounded-md border border-line bg-sunken py-1.5 pr-1.5 pl-3.5">
      <pre className="min-w-0 flex-1 py-1.5 font-mono text-xs leading-relaxed wrap-anywhere whitespace-pre-wrap">
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy ${label}`} />
    </div>
  );
}
