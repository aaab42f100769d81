/** Requests an email with a link that sets a new password. */
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { callConsoleApi } from "../../api/api-client.ts";
import { AuthCard } from "../../layout/auth-layout.tsx";
import { Button } from "../../ui/button.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { EmailField, findFieldError } from "../../ui/form-fields.tsx";

export function ForgotPasswordPage() {
  const send = useMutation({
    mutationFn: async (fields: FormData) => {
      const email = readTextField(fields, "email").trim();
      await callConsoleApi("POST /console/api/auth/request-password-reset", { body: { email } });
      return email;
    },
  });
  const below = (
    <Link to="/sign-in" className="font-medium text-accent underline-offset-2 hover:underline">
      Back to sign-in
    </Link>
  );
  if (send.isSuccess) {
    return (
      <AuthCard title="Check your email" below={below}>
        <p role="status">
          If <strong className="font-medium">{send.data}</strong> has an account, we sent a link to reset the password.
          The link works once, for one hour.
        </p>
      </AuthCard>
    );
  }
  return (
    <AuthCard title="Reset password" about="We will email you a link to set a new password." below={below}>
      <Form onSubmit={send.mutate} error={send.error} fields={["email"]}>
        <EmailField error={findFieldError(send.error, "email")} />
        <Button type="submit" look="primary" busy={send.isPending}>
          Send link
        </Button>
      </Form>
    </AuthCard>
  );
}
