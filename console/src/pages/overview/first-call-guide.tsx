/**
 * The steps to a builder's first request: a key and sample code. Once a request has arrived, later visits do not show
 * them.
 */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { balanceQuery } from "../../data/balance-and-usage.ts";
import { keysQuery } from "../../data/keys.ts";
import { liveModelsQuery } from "../../data/live-models.ts";
import { useChosenAccount, usePermissions } from "../../data/signed-in-session.ts";
import { formatExactDollars, parseMicro } from "../../dollar-amounts.ts";
import { API_KEY_KIND } from "../../keys/api-keys.ts";
import { makeSnippets } from "../../request-snippets.ts";
import { CreateSecretDialog } from "../../secrets/create-secret.tsx";
import { clearStashedSecret, stashSecret, useStashedSecret } from "../../secrets/stashed-secret.ts";
import { RoleNote } from "../../team/role-note.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { CodeTabs } from "../../ui/code.tsx";
import { CircleCheck, KeyRound } from "../../ui/icons.tsx";
import { SecretText } from "../../ui/secret-text.tsx";

const PLACEHOLDER = "tsk_live_YOUR_KEY";

/** `none`: whether the request history is empty. */
export function FirstCallGuide({ none }: { none: boolean }) {
  const [waited, setWaited] = useState(false);
  useEffect(() => {
    if (none) setWaited(true);
  }, [none]);
  if (!waited) return null;
  return none ? <HowTo /> : <Arrived />;
}

function HowTo() {
  const may = usePermissions("builder");
  const [creating, setCreating] = useState(false);
  const of = `${useChosenAccount("builder")?.id} key`;
  const secret = useStashedSecret(of);
  const { data: keys } = useQuery(keysQuery);
  const { data: models } = useQuery({ ...liveModelsQuery, refetchInterval: false });
  const { data: balance } = useQuery(balanceQuery);
  const broke = balance !== undefined && parseMicro(balance.available_micro) <= 0n;
  const hasKey = keys?.data.some(({ revoked_at }) => revoked_at === null) === true;
  const callable = models?.data.filter(({ status, kind }) => status === "active" && kind === "generation") ?? [];
  // Prefers a model with a connected node, so that the pasted sample works.
  const model = callable.find(({ nodes }) => nodes > 0) ?? callable[0];
  const snippets = makeSnippets({
    baseUrl: `${location.origin}/v1`,
    apiKey: secret ?? PLACEHOLDER,
    body: {
      model: model?.id ?? "tiny-3b",
      messages: [{ role: "user", content: "Tell me a story about a fox" }],
      max_tokens: 200,
    },
  });
  return (
    <Card title="Make your first request">
      {broke && (
        <p className="mb-4 rounded-md bg-warn-soft px-3 py-2 text-warn">
          Your balance is {formatExactDollars(0n)}. Requests need credit.{" "}
          <Link to="/credits" className="font-medium underline underline-offset-2">
            Add credits
          </Link>
        </p>
      )}
      <ol className="grid grid-cols-1 gap-5 lg:grid-cols-[minmax(0,1fr)_minmax(0,2fr)]">
        <li>
          <p className="font-medium">1. Create an API key</p>
          <p className="mt-1 mb-3 text-ink-soft">
            {secret !== undefined
              ? "Your new key is in the example until the first request arrives. Copy the key: it is not shown again."
              : hasKey
                ? "You already have a key. Replace the placeholder in the example with it, or create another key."
                : "The key's secret is shown once and filled into the example."}
          </p>
          {secret !== undefined && (
            <div className="mb-3">
              <SecretText text={secret} noun="key" />
            </div>
          )}
          <RoleNote kind="builder" need="work" />
          {may("work") && (
            <Button look={hasKey ? "plain" : "primary"} onClick={() => setCreating(true)}>
              <KeyRound aria-hidden className="size-4" />
              {hasKey ? "Create another key" : "Create a key"}
            </Button>
          )}
        </li>
        <li className="min-w-0">
          <p className="mb-3 font-medium">2. Run this example</p>
          <CodeTabs label="Language" snippets={snippets} />
          <p role="status" className="mt-3 flex items-center gap-2 text-ink-soft">
            <span aria-hidden className="size-2 animate-breathe rounded-full bg-accent" />
            Waiting for your first request…
          </p>
        </li>
      </ol>
      <CreateSecretDialog
        kind={API_KEY_KIND}
        open={creating}
        onClose={() => setCreating(false)}
        onCreated={(text) => stashSecret(of, text)}
      />
    </Card>
  );
}

function Arrived() {
  const of = `${useChosenAccount("builder")?.id} key`;
  useEffect(() => clearStashedSecret(of), [of]);
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg border border-line bg-good-soft px-4 py-3 text-good sm:px-5"
    >
      <CircleCheck aria-hidden className="size-5" />
      <p className="font-medium">Your first request has arrived.</p>
      <Link to="/requests" className="underline underline-offset-2">
        View it in Requests
      </Link>
    </div>
  );
}
