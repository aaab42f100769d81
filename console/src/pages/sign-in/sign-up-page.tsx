/** The form that creates a new sign-in with email and password. */
import { useMutation } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { callConsoleApi } from "../../api/api-client.ts";
import { AuthCard } from "../../layout/auth-layout.tsx";
import { Button } from "../../ui/button.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { EmailField, findFieldError, NewPasswordField, TextField } from "../../ui/form-fields.tsx";
import { useOpenNextPage } from "./open-next-page.ts";
import { ProviderButtons } from "./provider-buttons.tsx";

export function SignUpPage() {
  const { next } = useSearch({ from: "/auth/sign-up" });
  const goOn = useOpenNextPage(next);
  const signUp = useMutation({
    mutationFn: async (fields: FormData) => {
      const body = {
        name: readTextField(fields, "name").trim(),
        email: readTextField(fields, "email").trim(),
        password: readTextField(fields, "password"),
      };
      const { status } = await callConsoleApi("POST /console/api/auth/sign-up/email", { body });
      await goOn(status);
      return { status, email: body.email };
    },
  });
  if (signUp.data?.status === "verification_required") return <EmailSent email={signUp.data.email} />;
  return (
    <AuthCard
      title="Create account"
      about="Build with models, host them, or both."
      below={
        <>
          Already have an account?{" "}
          <Link
            to="/sign-in"
            search={next === undefined ? {} : { next }}
            className="font-medium text-accent underline-offset-2 hover:underline"
          >
            Sign in
          </Link>
        </>
      }
    >
      <ProviderButtons />
      <Form onSubmit={signUp.mutate} error={signUp.error} fields={["name", "email", "password"]}>
        <TextField
          label="Your name"
          name="name"
          autoComplete="name"
          required
          maxLength={200}
          error={findFieldError(signUp.error, "name")}
        />
        <EmailField error={findFieldError(signUp.error, "email")} />
        <NewPasswordField label="Password" name="password" error={findFieldError(signUp.error, "password")} />
        <Button type="submit" look="primary" busy={signUp.isPending}>
          Create account
        </Button>
      </Form>
    </AuthCard>
  );
}

function EmailSent({ email }: { email: string }) {
  return (
    <AuthCard title="Confirm your email address">
      <p role="status">
        We sent an email to <strong className="font-medium">{email}</strong>. Open the link in it, then sign in. The
        link works for one hour.
      </p>
    </AuthCard>
  );
}
