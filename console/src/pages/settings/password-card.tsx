/** The form that changes the user's password. */
import { useRef } from "react";
import { useChangePassword } from "../../data/sign-in-security.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError, NewPasswordField, PasswordField } from "../../ui/form-fields.tsx";
import { toast } from "../../ui/toast.tsx";

export function PasswordCard() {
  const change = useChangePassword();
  const box = useRef<HTMLDivElement>(null);
  const submit = (fields: FormData): void =>
    change.mutate(
      { password: readTextField(fields, "password"), new_password: readTextField(fields, "new_password") },
      {
        onSuccess: () => {
          box.current?.querySelector("form")?.reset();
          toast("Password changed");
        },
      },
    );
  return (
    <Card title="Password">
      <div ref={box} className="max-w-sm">
        <Form onSubmit={submit} error={change.error} fields={["password", "new_password"]}>
          <PasswordField
            label="Current password"
            name="password"
            autoComplete="current-password"
            required
            error={findFieldError(change.error, "password")}
          />
          <NewPasswordField
            label="New password"
            name="new_password"
            error={findFieldError(change.error, "new_password")}
          />
          <Button type="submit" className="self-start" busy={change.isPending}>
            Change password
          </Button>
        </Form>
      </div>
    </Card>
  );
}
