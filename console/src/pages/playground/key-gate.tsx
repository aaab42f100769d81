/** The playground calls the public API as any program does, so it needs a key: a new one, or one that is pasted. */
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { useCreateKey } from "../../data/keys.ts";
import { useMay } from "../../data/session.ts";
import { Button } from "../../ui/button.tsx";
import { PasswordField } from "../../ui/field.tsx";
import { Form, textOf } from "../../ui/form.tsx";
import { toastError } from "../../ui/toast.tsx";
import { startOfKey } from "./playground-key.ts";

const KEY_NAME = "playground";

export function KeyGate({ onKey }: { onKey: (key: string) => void }) {
  const create = useCreateKey();
  const may = useMay("builder");
  const [problem, setProblem] = useState<string>();
  const paste = (fields: FormData): void => {
    const key = textOf(fields, "key").trim();
    if (/^tsk_live_[^_]+_.+$/.test(key)) onKey(key);
    else setProblem("A key begins with tsk_live_ and has two parts after it.");
  };
  return (
    <div className="flex flex-col items-center gap-6 px-5 py-12 text-center">
      <div>
        <KeyRound aria-hidden className="mx-auto mb-3 size-7 text-ink-soft" />
        <h2 className="font-medium">The playground needs an API key</h2>
        <p className="mx-auto mt-1.5 max-w-md text-ink-soft">
          It calls the same API as your programs. The key stays in this tab until you close it or sign out.
        </p>
      </div>
      {may("work") && (
        <Button
          look="primary"
          busy={create.isPending}
          onClick={() => create.mutate(KEY_NAME, { onSuccess: ({ secret }) => onKey(secret), onError: toastError })}
        >
          Create a key for the playground
        </Button>
      )}
      <Form onSubmit={paste} className="w-full max-w-sm text-left">
        <PasswordField
          label={may("work") ? "Or use an existing key" : "Use an existing key"}
          name="key"
          required
          autoComplete="off"
          placeholder="tsk_live_…"
          error={problem}
        />
        <Button type="submit">Use this key</Button>
      </Form>
    </div>
  );
}

export function KeyBar({ apiKey, onForget }: { apiKey: string; onForget: () => void }) {
  return (
    <div className="flex items-center justify-between gap-3 border-b border-line py-1.5 pr-2 pl-4 text-xs text-ink-soft sm:pl-5">
      <span className="min-w-0 truncate">
        Key <code className="font-mono">{startOfKey(apiKey)}_…</code>
      </span>
      <Button look="quiet" size="small" onClick={onForget}>
        Use another key
      </Button>
    </div>
  );
}
