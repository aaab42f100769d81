/** Renaming a key. Spend that was recorded keeps the name it had then. */
import type { ApiKey } from "../../api/types.ts";
import { useRenameKey } from "../../data/keys.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogActions } from "../../ui/dialog.tsx";
import { errorOfField, TextField } from "../../ui/field.tsx";
import { Form, textOf } from "../../ui/form.tsx";
import { toast } from "../../ui/toast.tsx";

export function RenameKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const rename = useRenameKey();
  const submit = (fields: FormData): void =>
    rename.mutate(
      { id: apiKey.id, name: textOf(fields, "name").trim() },
      {
        onSuccess: ({ name }) => {
          onClose();
          toast(`Renamed to ${name}`);
        },
      },
    );
  return (
    <Dialog open onClose={onClose} title="Rename key" about="Past requests keep the name they were made with.">
      <Form onSubmit={submit} error={rename.error} fields={["name"]}>
        <TextField
          label="Name"
          name="name"
          required
          maxLength={200}
          autoComplete="off"
          defaultValue={apiKey.name}
          error={errorOfField(rename.error, "name")}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={rename.isPending}>
            Rename
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}
