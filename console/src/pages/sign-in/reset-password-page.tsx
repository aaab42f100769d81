/** The page behind an emailed link that sets a new password. */
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { callConsoleApi } from "../../api/api-client.ts";
import { AuthCard } from "../../layout/auth-layout.tsx";
import { Button, buttonClasses } from "../../ui/button.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError, NewPasswordField } from "../../ui/form-fields.tsx";
import { readTokenFromUrl } from "./open-next-page.ts";

export function ResetPage() {
  const [token] = useState(readTokenFromUrl);
  const reset = useMutation({
    mutationFn: (fields: FormData) =>
      callConsoleApi("POST /console/api/auth/reset-password", {
        body: { token, password: readTextField(fields, "password") },
      }),
  });
  if (token === "") {
    return (
      <AuthCard title="This link is incomplete">
        <p>
          Open the link in the email again, or{" "}
          <Link to="/forgot-password" className="font-medium text-accent underline-offset-2 hover:underline">
            request a new one
          </Link>
          .
        </p>
      </AuthCard>
    );
  }
  if (reset.isSuccess) {
    return (
      <AuthCard title="Your password is set">
        <div className="flex flex-col gap-4">
          <p role="status">You can sign in with the new password now.</p>
          <Link to="/sign-in" className={buttonClasses("primary")}>
            Sign in
          </Link>
        </div>
      </AuthCard>
    );
  }
  return (
    <AuthCard title="Set a new password">
      <Form onSubmit={reset.mutate} error={reset.error} fields={["password"]}>
        <NewPasswordField label="New password" name="password" error={findFieldError(reset.error, "password")} />
        <Button type="submit" look="primary" busy={reset.isPending}>
          Set password
        </Button>
      </Form>
    </AuthCard>
  );
}
