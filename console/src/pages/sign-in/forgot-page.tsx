/** Asking for a letter with a link to set a new password. */
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, ask } from "../../api/client.ts";
import { AuthCard } from "../../layout/auth-layout.tsx";
import { Button } from "../../ui/button.tsx";
import { errorOfField, TextField } from "../../ui/field.tsx";
import { Form, textOf } from "../../ui/form.tsx";

export function ForgotPage() {
  const send = useMutation({
    mutationFn: async (fields: FormData) => {
      const email = textOf(fields, "email").trim();
      await ask(api.POST("/console/api/auth/request-password-reset", { body: { email } }));
      return email;
    },
  });
  const below = (
    <Link to="/sign-in" className="font-medium text-accent underline-offset-2 hover:underline">
      Back to signing in
    </Link>
  );
  if (send.isSuccess) {
    return (
      <AuthCard title="Look into your mail" below={below}>
        <p role="status">
          If <strong className="font-medium">{send.data}</strong> has a sign-in here, a letter is on its way to it. The
          link in it works once, for one hour.
        </p>
      </AuthCard>
    );
  }
  return (
    <AuthCard title="Set a new password" about="We send you a link for it." below={below}>
      <Form onSubmit={send.mutate} error={send.error} fields={["email"]}>
        <TextField
          label="E-mail"
          name="email"
          type="email"
          autoComplete="username"
          required
          error={errorOfField(send.error, "email")}
        />
        <Button type="submit" look="primary" busy={send.isPending}>
          Send the link
        </Button>
      </Form>
    </AuthCard>
  );
}
