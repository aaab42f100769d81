/** Code to copy, in one language or several behind tabs. */
import { Tabs } from "radix-ui";
import { useState } from "react";
import { CopyButton } from "./copy.tsx";

interface Snippet {
  language: string;
  text: string;
}

export function CodeBlock({ text, label, onCopied }: { text: string; label: string; onCopied?: () => void }) {
  return (
    <div className="relative rounded-md border border-line bg-sunken">
      <Pre text={text} label={label} />
      <div className="absolute top-1.5 right-1.5 rounded-md bg-sunken">
        <CopyButton text={text} label={`Copy ${label}`} {...(onCopied !== undefined && { onCopied })} />
      </div>
    </div>
  );
}

export function CodeTabs({ snippets, label }: { snippets: Snippet[]; label: string }) {
  const [chosen, choose] = useState(snippets[0]?.language ?? "");
  const text = snippets.find(({ language }) => language === chosen)?.text ?? "";
  return (
    <Tabs.Root value={chosen} onValueChange={choose} className="rounded-md border border-line bg-sunken">
      <div className="flex items-center justify-between gap-2 border-b border-line pr-1.5 pl-2">
        <Tabs.List aria-label={label} className="flex">
          {snippets.map(({ language }) => (
            <Tabs.Trigger
              key={language}
              value={language}
              className="-mb-px border-b-2 border-transparent px-2.5 py-2.5 text-xs font-medium text-ink-soft hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
            >
              {language}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <CopyButton text={text} label={`Copy the ${chosen} example`} />
      </div>
      {snippets.map((snippet) => (
        <Tabs.Content key={snippet.language} value={snippet.language} tabIndex={-1}>
          <Pre text={snippet.text} label={`${snippet.language} example`} />
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}

/** A scrolling block must be focusable, so that users can scroll it by keyboard. */
function Pre({ text, label }: { text: string; label: string }) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="overflow-x-auto rounded-md"
    >
      <pre className="w-max min-w-full px-3.5 py-3 pr-12 font-mono text-xs leading-relaxed">
        <code>{text}</code>
      </pre>
    </section>
  );
}
