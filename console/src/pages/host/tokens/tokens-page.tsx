/** A host's tokens. The host's machines log in with them. */
import { useQuery } from "@tanstack/react-query";
import { hostTokensQuery } from "../../../data/host-nodes-and-tokens.ts";
import { SecretsPage } from "../../../secrets/secrets-page.tsx";
import { Ticket } from "../../../ui/icons.tsx";
import { HOST_TOKEN_KIND } from "./host-tokens.ts";

export const TokensPage = () => (
  <SecretsPage
    kind={HOST_TOKEN_KIND}
    query={useQuery(hostTokensQuery)}
    title="Host tokens"
    about="Machines log in with a host token. Use one per machine, so that you can revoke it if the machine is lost."
    icon={<Ticket aria-hidden />}
    purpose="Create a host token to log in on a machine."
    revoking={() => "Machines that use this token stop serving within an hour, when their current credentials expire."}
  />
);
