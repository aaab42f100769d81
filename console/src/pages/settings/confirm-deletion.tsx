/** The form that confirms a deletion: the user types a name or address, and a code if they have a second factor. */
import type { UseMutationResult } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { FormActions } from "../../ui/dialog.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError, TextField } from "../../ui/form-fields.tsx";

interface Props<Data> {
  mutation: UseMutationResult<Data, Error, { typed: string; code: string }>;
  /** The text that the user must type, and the API field that receives it. */
  expected: string;
  field: "name" | "email";
  twoFactor: boolean;
  /** Whether something still prevents the deletion. */
  blocked?: boolean;
  action: string;
  onCancel: () => void;
  onDone: () => void;
  children?: ReactNode;
}

export function ConfirmDeletion<Data>(props: Props<Data>) {
  const { mutation, expected, field, twoFactor, blocked = false, action, onCancel, onDone, children } = props;
  const [typed, setTyped] = useState("");
  const submit = (fields: FormData): void =>
    mutation.mutate({ typed, code: readTextField(fields, "code") }, { onSuccess: onDone });
  return (
    <Form onSubmit={submit} error={mutation.error} fields={[field, "code"]}>
      {children}
      <TextField
        label={`Type “${expected}” to confirm`}
        name={field}
        autoComplete="off"
        required
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        error={findFieldError(mutation.error, field)}
      />
      {twoFactor && (
        <TextField
          label="Code"
          name="code"
          hint="A code from your authenticator app, or a backup code."
          autoComplete="one-time-code"
          required
          maxLength={17}
          error={findFieldError(mutation.error, "code")}
        />
      )}
      <FormActions onCancel={onCancel} busy={mutation.isPending} disabled={blocked || typed !== expected} danger>
        {action}
      </FormActions>
    </Form>
  );
}
