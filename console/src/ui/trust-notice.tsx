/** Why a node in good standing gets little work, or none. */
import type { ReactNode } from "react";
import type { ListedNode } from "../api/host-types.ts";
import { Notice } from "./notice.tsx";

interface Props {
  node: Pick<ListedNode, "name" | "state" | "probation" | "withheld">;
  /** Tells the host what to do; operators know. */
  forHost?: boolean;
  action?: ReactNode;
}

export function TrustNotice({ node: { name, state, probation, withheld }, forHost = false, action }: Props) {
  if (state === "quarantined" || state === "retired") return null;
  if (withheld !== null) {
    return (
      <Notice tone="bad" title={`${name} gets no work`} action={action}>
        <p>It was registered while another node of its host was in quarantine.</p>
        {forHost && (
          <p className="mt-3">
            It works once that node is released. Put right what led to the quarantine, then ask an operator to look.
          </p>
        )}
      </Notice>
    );
  }
  if (probation === null) return null;
  return (
    <Notice tone="neutral" title={`${name} is on probation`}>
      <p>
        A new node gets one request at a time until it has answered {probation.needed} well. So far: {probation.answers}
        .
      </p>
    </Notice>
  );
}
