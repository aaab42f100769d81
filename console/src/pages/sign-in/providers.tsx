/** Signing in with an identity provider. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { sentenceOf } from "../../api/fault.ts";
import { methodsQuery } from "../../data/session.ts";
import { Button } from "../../ui/button.tsx";
import { Problem } from "../../ui/form.tsx";

const OUTCOMES: Record<string, string> = {
  account_not_linked: "There is an account with this e-mail address already. Sign in with its password.",
  email_not_verified: "The provider has not verified your e-mail address. Verify it there, then try again.",
  provider_refused: "The provider refused the sign-in.",
  expired: "The sign-in expired, or was opened twice. Try again.",
  failed: "The sign-in failed. Try again.",
};

/** What became of a visit to a provider, from the address it sent the browser back to. */
export function providerProblem(outcome: string | undefined): string | undefined {
  return outcome === undefined ? undefined : (OUTCOMES[outcome] ?? OUTCOMES.failed);
}

export function Providers() {
  const { data: methods } = useQuery(methodsQuery);
  const go = useMutation({
    mutationFn: (provider: string) => call("POST /console/api/auth/sign-in/openid", { body: { provider } }),
    onSuccess: ({ url }) => location.assign(url),
  });
  if (methods === undefined || methods.providers.length === 0) return null;
  return (
    <div className="mb-5 flex flex-col gap-2.5 border-b border-line pb-5">
      {go.isError && <Problem>{sentenceOf(go.error)}</Problem>}
      {methods.providers.map(({ id, name }) => (
        <Button key={id} busy={go.isPending && go.variables === id} onClick={() => go.mutate(id)}>
          Continue with {name}
        </Button>
      ))}
    </div>
  );
}
