/** A dialog that renames an object. */
import { Dialog, FormActions } from "./dialog.tsx";
import { Form, readTextField } from "./form.tsx";
import { findFieldError, TextField } from "./form-fields.tsx";
import { toast } from "./toast.tsx";

interface Props {
  /** The dialog's title, for example "Rename key". */
  title: string;
  about?: string;
  /** The object to rename. */
  of: { id: string; name: string };
  rename: {
    mutate: (to: { id: string; name: string }, then: { onSuccess: (renamed: { name: string }) => void }) => void;
    isPending: boolean;
    error: Error | null;
  };
  onClose: () => void;
}

export function RenameDialog({ title, about, of: { id, name }, rename, onClose }: Props) {
  const submit = (fields: FormData): void =>
    rename.mutate(
      { id, name: readTextField(fields, "name").trim() },
      {
        onSuccess: (renamed) => {
          onClose();
          toast(`Renamed to ${renamed.name}`);
        },
      },
    );
  return (
    <Dialog open onClose={onClose} title={title} {...(about !== undefined && { about })}>
      <Form onSubmit={submit} error={rename.error} fields={["name"]}>
        <TextField
          label="Name"
          name="name"
          required
          maxLength={200}
          autoComplete="off"
          defaultValue={name}
          error={findFieldError(rename.error, "name")}
        />
        <FormActions onCancel={onClose} busy={rename.isPending}>
          Rename
        </FormActions>
      </Form>
    </Dialog>
  );
}
