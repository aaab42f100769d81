/** A dialog that sets a key's own limits. An empty field means the platform's default. */
import { useState } from "react";
import type { PlatformKey } from "../../../api/answer-types.ts";
import { useSetKeyLimits } from "../../../data/platform-accounts.ts";
import { Dialog, FormActions } from "../../../ui/dialog.tsx";
import { Form, readTextField } from "../../../ui/form.tsx";
import { findFieldError, TextField } from "../../../ui/form-fields.tsx";
import { formatCount } from "../../../ui/time-text.tsx";
import { toast } from "../../../ui/toast.tsx";
import { parseWholeNumber } from "../../../whole-number.ts";

const FIELDS = [
  { name: "requests_per_minute", label: "Requests per minute" },
  { name: "tokens_per_minute", label: "Tokens per minute" },
  { name: "in_flight", label: "Concurrent requests" },
] as const;
const NAMES = FIELDS.map(({ name }) => name);
type Name = (typeof FIELDS)[number]["name"];

export function KeyLimitsDialog({ apiKey, onClose }: { apiKey: PlatformKey; onClose: () => void }) {
  const limits = useSetKeyLimits(apiKey.id);
  const [problem, setProblem] = useState<{ field: Name; text: string }>();
  const submit = (fields: FormData): void => {
    const texts = NAMES.map((name) => [name, readTextField(fields, name)] as const);
    const wrong = texts.find(([, text]) => text.trim() !== "" && parseWholeNumber(text) === undefined);
    setProblem(wrong && { field: wrong[0], text: "Enter a whole number, 0 or more." });
    if (wrong !== undefined) return;
    const asked = Object.fromEntries(texts.map(([name, text]) => [name, parseWholeNumber(text) ?? null]));
    limits.mutate(asked as Record<Name, number | null>, {
      onSuccess: () => {
        onClose();
        toast(`Saved the limits of ${apiKey.name}`);
      },
    });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Limits of ${apiKey.name}`}
      about="Limits apply immediately. Leave a field empty to use the platform's default."
    >
      <Form onSubmit={submit} error={limits.error} fields={[...NAMES]}>
        {FIELDS.map(({ name, label }) => (
          <TextField
            key={name}
            label={label}
            name={name}
            inputMode="numeric"
            autoComplete="off"
            defaultValue={String(apiKey.own_limits[name] ?? "")}
            placeholder={`${formatCount(apiKey.default_limits[name])} (default)`}
            error={problem?.field === name ? problem.text : findFieldError(limits.error, name)}
          />
        ))}
        <FormActions onCancel={onClose} busy={limits.isPending}>
          Save limits
        </FormActions>
      </Form>
    </Dialog>
  );
}
