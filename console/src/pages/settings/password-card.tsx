/** Changing the password. */
import { useRef } from "react";
import { useChangePassword } from "../../data/security.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { errorOfField, PasswordField } from "../../ui/field.tsx";
import { Form, textOf } from "../../ui/form.tsx";
import { toast } from "../../ui/toast.tsx";
import { PASSWORD_CHARS_MIN } from "../sign-in/sign-up-page.tsx";

export function PasswordCard() {
  const change = useChangePassword();
  const box = useRef<HTMLDivElement>(null);
  const submit = (fields: FormData): void =>
    change.mutate(
      { password: textOf(fields, "password"), new_password: textOf(fields, "new_password") },
      {
        onSuccess: () => {
          box.current?.querySelector("form")?.reset();
          toast("Your password is changed");
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
            error={errorOfField(change.error, "password")}
          />
          <PasswordField
            label="New password"
            name="new_password"
            autoComplete="new-password"
            required
            minLength={PASSWORD_CHARS_MIN}
            maxLength={128}
            hint={`At least ${PASSWORD_CHARS_MIN} characters.`}
            error={errorOfField(change.error, "new_password")}
          />
          <Button type="submit" className="self-start" busy={change.isPending}>
            Change password
          </Button>
        </Form>
      </div>
    </Card>
  );
}
