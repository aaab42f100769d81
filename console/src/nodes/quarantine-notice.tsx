/** A notice that says why a node is quarantined, with the evidence. */
import type { ReactNode } from "react";
import type { Quarantine } from "../api/answer-types.ts";
import { Notice } from "../ui/notice.tsx";
import { TimeText } from "../ui/time-text.tsx";
import { explainQuarantine, listEvidence } from "./quarantine-texts.ts";

interface Props {
  /** The node's name. */
  name: string;
  quarantine: Quarantine;
  /** Whether to include the advice for the host, which operators do not need. */
  forHost?: boolean;
  action?: ReactNode;
}

export function QuarantineNotice({ name, quarantine, forHost = false, action }: Props) {
  const { title, remedy } = explainQuarantine(quarantine);
  const evidence = listEvidence(quarantine);
  return (
    <Notice tone="bad" title={`${name} is quarantined`} action={action}>
      <p>{title}</p>
      <p className="text-ink-soft">
        Since <TimeText at={quarantine.at} as="full" />
      </p>
      {evidence.length > 0 && (
        <dl aria-label="Evidence" className="mt-3 grid grid-cols-[auto_1fr] gap-x-6 gap-y-1">
          {evidence.map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-ink-soft">{name}</dt>
              <dd className="min-w-0 break-words">{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {forHost && (
        <p className="mt-3">
          {remedy} Then ask an operator to release the node. A released node is paused until you resume it.{" "}
          {quarantine.reason === "spot_check"
            ? "The node's earnings since the last spot check before its first bad score are withheld."
            : "You keep the node's earnings."}
        </p>
      )}
    </Notice>
  );
}
