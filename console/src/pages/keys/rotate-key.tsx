/** A dialog that rotates a key's secret. The old secret keeps working for a chosen time, so that clients can switch. */
import { useState } from "react";
import type { ApiKey } from "../../api/answer-types.ts";
import { useRotateKey } from "../../data/keys.ts";
import { NewSecret, newSecretTitle } from "../../secrets/new-secret.tsx";
import { Dialog, FormActions } from "../../ui/dialog.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError, SelectField, TextField } from "../../ui/form-fields.tsx";
import { TimeText } from "../../ui/time-text.tsx";
import { parseWholeNumber } from "../../whole-number.ts";

const HOUR_S = 3600;
const OWN = "own";
const KEEP = [
  { value: "0", label: "Expires now" },
  { value: String(HOUR_S), label: "Expires in 1 hour" },
  { value: String(24 * HOUR_S), label: "Expires in 24 hours" },
  { value: String(7 * 24 * HOUR_S), label: "Expires in 7 days" },
  { value: OWN, label: "Custom" },
];

export function RotateKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const rotate = useRotateKey(apiKey.id);
  const about = "The key gets a new secret and keeps its name, settings and history.";
  const words = rotate.data === undefined ? { title: `Rotate ${apiKey.name}`, about } : newSecretTitle("key");
  return (
    <Dialog open onClose={onClose} {...words}>
      {rotate.data === undefined ? (
        <RotateForm apiKey={apiKey} rotate={rotate} onCancel={onClose} />
      ) : (
        <NewSecret noun="key" secret={rotate.data.secret} onDone={onClose}>
          <OldSecret until={rotate.data.old_secret_until} />
        </NewSecret>
      )}
    </Dialog>
  );
}

const OldSecret = ({ until }: { until: number | null }) =>
  until === null ? (
    "The old secret no longer works."
  ) : (
    <>
      The old secret works until <TimeText at={until} as="full" />.
    </>
  );

interface FormProps {
  apiKey: ApiKey;
  rotate: ReturnType<typeof useRotateKey>;
  onCancel: () => void;
}

function RotateForm({ apiKey, rotate, onCancel }: FormProps) {
  const [keep, setKeep] = useState(String(24 * HOUR_S));
  const [problem, setProblem] = useState<string>();
  const refusal = findFieldError(rotate.error, "keep_old_s");
  const submit = (fields: FormData): void => {
    const hours = parseWholeNumber(readTextField(fields, "hours"));
    const seconds = keep === OWN ? hours && hours * HOUR_S : Number(keep);
    setProblem(seconds === undefined ? "Enter a whole number of hours." : undefined);
    if (seconds !== undefined) rotate.mutate(seconds);
  };
  return (
    <Form onSubmit={submit} error={rotate.error} fields={["keep_old_s"]}>
      <SelectField
        label="Old secret"
        value={keep}
        onChange={(event) => setKeep(event.target.value)}
        options={KEEP}
        hint={
          apiKey.old_secret_until === null ? undefined : "A secret kept from an earlier rotation expires immediately."
        }
        error={keep === OWN ? undefined : refusal}
      />
      {keep === OWN && (
        <TextField
          label="Hours"
          name="hours"
          inputMode="numeric"
          required
          autoComplete="off"
          hint="Up to 720 (30 days)."
          error={problem ?? refusal}
        />
      )}
      <FormActions onCancel={onCancel} busy={rotate.isPending}>
        Rotate key
      </FormActions>
    </Form>
  );
}
