/** Sign-in with email and password, or with an identity provider. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { callConsoleApi } from "../../api/api-client.ts";
import { ApiFault } from "../../api/api-fault.ts";
import { signInMethodsQuery } from "../../data/signed-in-session.ts";
import { AuthCard } from "../../layout/auth-layout.tsx";
import { Button } from "../../ui/button.tsx";
import { Form, FormProblem, readTextField } from "../../ui/form.tsx";
import { CheckField, EmailField, findFieldError, PasswordField } from "../../ui/form-fields.tsx";
import { useOpenNextPage } from "./open-next-page.ts";
import { describeProviderProblem, ProviderButtons } from "./provider-buttons.tsx";
import { ResendEmail } from "./resend-email.tsx";

export function SignInPage() {
  const { next, sign_in: outcome } = useSearch({ from: "/auth/sign-in" });
  const { data: methods } = useQuery(signInMethodsQuery);
  const goOn = useOpenNextPage(next);
  const signIn = useMutation({
    mutationFn: async (fields: FormData) => {
      const body = {
        email: readTextField(fields, "email").trim(),
        password: readTextField(fields, "password"),
        remember_me: fields.get("remember") !== null,
      };
      const { status } = await callConsoleApi("POST /console/api/auth/sign-in/email", { body });
      await goOn(status);
    },
  });
  const problem = signIn.isIdle ? describeProviderProblem(outcome) : undefined;
  const unverified = signIn.error instanceof ApiFault && signIn.error.code === "email_not_verified";
  return (
    <AuthCard
      title="Sign in"
      below={
        <>
          New here?{" "}
          <Link
            to="/sign-up"
            search={next === undefined ? {} : { next }}
            className="font-medium text-accent underline-offset-2 hover:underline"
          >
            Create account
          </Link>
        </>
      }
    >
      <ProviderButtons />
      <Form onSubmit={signIn.mutate} error={signIn.error} fields={["email", "password"]}>
        {problem !== undefined && <FormProblem>{problem}</FormProblem>}
        {unverified && <ResendEmail />}
        <EmailField error={findFieldError(signIn.error, "email")} />
        <PasswordField
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          error={findFieldError(signIn.error, "password")}
        />
        <div className="flex flex-wrap items-center justify-between gap-2">
          <CheckField label="Keep me signed in" name="remember" defaultChecked />
          {methods?.password_reset === true && (
            <Link to="/forgot-password" className="text-accent underline-offset-2 hover:underline">
              Forgot password?
            </Link>
          )}
        </div>
        <Button type="submit" look="primary" busy={signIn.isPending}>
          Sign in
        </Button>
      </Form>
    </AuthCard>
  );
}
