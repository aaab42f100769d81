/** Sign-in with email and password, or with an identity provider. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { call } from "../../api/client.ts";
import { ApiFault } from "../../api/fault.ts";
import { methodsQuery } from "../../data/session.ts";
import { AuthCard } from "../../layout/auth-layout.tsx";
import { Button } from "../../ui/button.tsx";
import { CheckField, EmailField, errorOfField, PasswordField } from "../../ui/field.tsx";
import { Form, Problem, textOf } from "../../ui/form.tsx";
import { useNextStep } from "./next-step.ts";
import { Providers, providerProblem } from "./providers.tsx";
import { ResendEmail } from "./resend-email.tsx";

export function SignInPage() {
  const { next, sign_in: outcome } = useSearch({ from: "/auth/sign-in" });
  const { data: methods } = useQuery(methodsQuery);
  const goOn = useNextStep(next);
  const signIn = useMutation({
    mutationFn: async (fields: FormData) => {
      const body = {
        email: textOf(fields, "email").trim(),
        password: textOf(fields, "password"),
        remember_me: fields.get("remember") !== null,
      };
      const { status } = await call("POST /console/api/auth/sign-in/email", { body });
      await goOn(status);
    },
  });
  const problem = signIn.isIdle ? providerProblem(outcome) : undefined;
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
      <Providers />
      <Form onSubmit={signIn.mutate} error={signIn.error} fields={["email", "password"]}>
        {problem !== undefined && <Problem>{problem}</Problem>}
        {unverified && <ResendEmail />}
        <EmailField error={errorOfField(signIn.error, "email")} />
        <PasswordField
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          error={errorOfField(signIn.error, "password")}
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
