/** A host's tokens: what its machines authenticate with. */
import { useQuery } from "@tanstack/react-query";
import { hostTokensQuery } from "../../../data/host.ts";
import { SecretsPage } from "../../../secrets/secrets-page.tsx";
import { Ticket } from "../../../ui/icons.tsx";
import { HOST_TOKENS } from "./host-tokens.ts";

export const TokensPage = () => (
  <SecretsPage
    kind={HOST_TOKENS}
    query={useQuery(hostTokensQuery)}
    title="Host tokens"
    about="A machine authenticates with a host token. Use one per machine, and revoke it when the machine is lost."
    icon={<Ticket aria-hidden />}
    purpose="Create one to log a machine in."
    revoking={() =>
      "Machines that use it get no new credentials: they stop serving within the hour, when their current ones expire."
    }
  />
);
