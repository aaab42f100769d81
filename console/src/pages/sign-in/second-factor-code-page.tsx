/** The second step of a sign-in: enter a code of the authenticator app, or a backup code. */
import { useMutation } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { callConsoleApi } from "../../api/api-client.ts";
import { AuthCard } from "../../layout/auth-layout.tsx";
import { Button } from "../../ui/button.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError, TextField } from "../../ui/form-fields.tsx";
import { useOpenNextPage } from "./open-next-page.ts";

export function SecondFactorCodePage() {
  const { next } = useSearch({ from: "/auth/sign-in/code" });
  const goOn = useOpenNextPage(next);
  const enter = useMutation({
    mutationFn: async (fields: FormData) => {
      const code = readTextField(fields, "code").replaceAll(/\s/g, "");
      const { status } = await callConsoleApi("POST /console/api/auth/sign-in/code", { body: { code } });
      await goOn(status);
    },
  });
  return (
    <AuthCard
      title="Enter your code"
      about="Enter the six digits that your authenticator app shows for Tollgate."
      below={
        <Link
          to="/sign-in"
          search={next === undefined ? {} : { next }}
          className="font-medium text-accent underline-offset-2 hover:underline"
        >
          Back to sign-in
        </Link>
      }
    >
      <Form onSubmit={enter.mutate} error={enter.error} fields={["code"]}>
        <TextField
          label="Code"
          name="code"
          autoComplete="one-time-code"
          inputMode="numeric"
          required
          autoFocus
          maxLength={17}
          hint="You can also enter one of your backup codes."
          error={findFieldError(enter.error, "code")}
        />
        <Button type="submit" look="primary" busy={enter.isPending}>
          Continue
        </Button>
      </Form>
    </AuthCard>
  );
}
