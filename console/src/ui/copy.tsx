/** A button that copies text to the clipboard and confirms it. */

import { useEffect, useState } from "react";
import { Button, IconButton } from "./button.tsx";
import { Check, Copy } from "./icons.tsx";
import { toast } from "./toast.tsx";

const DONE_MS = 2_000;

/** Falls back to selecting the text if the browser offers no clipboard, as over plain HTTP. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return await navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("[role=dialog]") ?? document.body).append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("The browser blocked copying. Select the text and copy it.");
}

interface CopyProps {
  text: string;
  /** The button's accessible name, for example "Copy the key". */
  label: string;
  /** Shows a text beside the icon. */
  worded?: boolean;
  /** Focuses the button when it appears. */
  focused?: boolean;
  onCopied?: () => void;
}

export function CopyButton({ text, label, worded = false, focused = false, onCopied }: CopyProps) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), DONE_MS);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = (): void => {
    copyText(text).then(
      () => {
        setDone(true);
        onCopied?.();
      },
      () => toast("The browser blocked copying. Select the text and copy it manually.", "bad"),
    );
  };
  const Icon = done ? Check : Copy;
  return (
    <>
      {worded ? (
        <Button onClick={copy} autoFocus={focused} title={label}>
          <Icon aria-hidden className="size-4" />
          {done ? "Copied" : "Copy"}
        </Button>
      ) : (
        <IconButton label={label} onClick={copy}>
          <Icon aria-hidden className={done ? "size-4 text-good" : "size-4"} />
        </IconButton>
      )}
      <span role="status" className="sr-only">
        {done ? "Copied" : ""}
      </span>
    </>
  );
}
