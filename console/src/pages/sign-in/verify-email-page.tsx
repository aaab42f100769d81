/**
 * The page behind an emailed link that confirms an email address. It requires a click, because mail programs follow
 * links automatically.
 */
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { callConsoleApi } from "../../api/api-client.ts";
import { AuthCard } from "../../layout/auth-layout.tsx";
import { Button, buttonClasses } from "../../ui/button.tsx";
import { Form } from "../../ui/form.tsx";
import { readTokenFromUrl } from "./open-next-page.ts";

export function VerifyEmailPage() {
  const [token] = useState(readTokenFromUrl);
  const verify = useMutation({
    mutationFn: () => callConsoleApi("POST /console/api/auth/verify-email", { body: { token } }),
  });
  if (verify.isSuccess) {
    return (
      <AuthCard title="Your email address is confirmed">
        <Link to="/sign-in" className={buttonClasses("primary")}>
          Sign in
        </Link>
      </AuthCard>
    );
  }
  return (
    <AuthCard title="Confirm your email address">
      <Form onSubmit={() => verify.mutate()} error={verify.error}>
        <p>Confirm the address to finish creating your account.</p>
        <Button type="submit" look="primary" busy={verify.isPending}>
          Confirm
        </Button>
      </Form>
    </AuthCard>
  );
}
