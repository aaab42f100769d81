/** A notice that says why a node that is not quarantined receives few requests, or none. */
import type { ReactNode } from "react";
import type { ListedNode } from "../api/answer-types.ts";
import { Notice } from "../ui/notice.tsx";

interface Props {
  node: Pick<ListedNode, "name" | "state" | "probation" | "withheld">;
  /** Whether to include the advice for the host, which operators do not need. */
  forHost?: boolean;
  action?: ReactNode;
}

export function TrustNotice({ node: { name, state, probation, withheld }, forHost = false, action }: Props) {
  if (state === "quarantined" || state === "retired") return null;
  if (withheld !== null) {
    return (
      <Notice tone="bad" title={`${name} receives no requests`} action={action}>
        <p>This node was registered while another node of the same host was quarantined.</p>
        {forHost && (
          <p className="mt-3">
            Fix the cause of the other node's quarantine, then ask an operator to release it. The platform then clears
            this node as well.
          </p>
        )}
      </Notice>
    );
  }
  if (probation === null) return null;
  return (
    <Notice tone="neutral" title={`${name} is on probation`}>
      <p>
        A new node receives one request at a time until it has answered {probation.needed} correctly. So far:{" "}
        {probation.answers}.
      </p>
    </Notice>
  );
}
