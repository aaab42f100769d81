/** Buttons that sign in with an identity provider. */
import { useMutation, useQuery } from "@tanstack/react-query";
import type { OpenIdRefusal } from "@tollgate/api/console/openid-refusals.ts";
import { callConsoleApi } from "../../api/api-client.ts";
import { errorMessage } from "../../api/api-fault.ts";
import { signInMethodsQuery } from "../../data/signed-in-session.ts";
import { Button } from "../../ui/button.tsx";
import { FormProblem } from "../../ui/form.tsx";

const SENTENCES: Record<OpenIdRefusal, string> = {
  account_not_linked: "An account with this email address already exists. Sign in with its password.",
  email_missing:
    "The provider did not share your email address. Allow it to share the address, or add one there, then try again.",
  email_not_verified: "The provider has not verified your email address. Verify it there, then try again.",
  provider_refused: "The provider rejected the sign-in.",
  provider_unavailable: "The sign-in provider did not respond. Try again, or sign in another way.",
  expired: "This sign-in expired or was already used. Try again.",
  too_many_attempts: "Too many attempts. Wait a minute, then try again.",
  failed: "The provider sent an invalid response. Try again. If it keeps happening, contact the platform's operators.",
};

/** A message about a failed sign-in at a provider, from the outcome in the URL to which the provider returned. */
export function describeProviderProblem(outcome: string | undefined): string | undefined {
  return outcome === undefined ? undefined : (SENTENCES[outcome as OpenIdRefusal] ?? SENTENCES.failed);
}

export function ProviderButtons() {
  const { data: methods } = useQuery(signInMethodsQuery);
  const go = useMutation({
    mutationFn: (provider: string) => callConsoleApi("POST /console/api/auth/sign-in/openid", { body: { provider } }),
    onSuccess: ({ url }) => location.assign(url),
  });
  if (methods === undefined || methods.providers.length === 0) return null;
  return (
    <div className="mb-5 flex flex-col gap-2.5 border-b border-line pb-5">
      {go.isError && <FormProblem>{errorMessage(go.error)}</FormProblem>}
      {methods.providers.map(({ id, name }) => (
        <Button key={id} busy={go.isPending && go.variables === id} onClick={() => go.mutate(id)}>
          Continue with {name}
        </Button>
      ))}
    </div>
  );
}
