/** One entry of the audit log as a sentence with links. */
import { Link } from "@tanstack/react-router";
import type { OperatorAction } from "../../../api/answer-types.ts";
import { Badge } from "../../../ui/badge.tsx";
import { formatAuditSentence } from "./audit-sentences.ts";

const LINK = "font-medium text-accent underline-offset-2 hover:underline";

export function AuditEntry({ action }: { action: OperatorAction }) {
  const { before, subject, after } = formatAuditSentence(action);
  return (
    <span className="wrap-anywhere">
      <span className="font-medium">{action.operator}</span> {before}
      {subject && (
        <>
          {" "}
          <Subject of={action} />
        </>
      )}
      {after}
    </span>
  );
}

function Subject({ of: { subject, subject_name: name, subject_account: owner } }: { of: OperatorAction }) {
  const text = name ?? subject;
  const whose = owner !== null && (
    <>
      {" of "}
      <Link to="/operator/accounts/$id" params={{ id: owner.id }} className={LINK}>
        {owner.name}
      </Link>
    </>
  );
  const id = name !== null && (
    <>
      {" "}
      <code className="font-mono text-xs text-ink-soft">({subject})</code>
    </>
  );
  const link =
    name === null && !subject.startsWith("pay_") ? (
      <code className="font-mono text-xs">{text}</code>
    ) : subject.startsWith("acc_") ? (
      <Link to="/operator/accounts/$id" params={{ id: subject }} className={LINK}>
        {text}
      </Link>
    ) : subject.startsWith("node_") ? (
      <Link to="/operator/nodes" search={{ node: subject }} className={LINK}>
        {text}
      </Link>
    ) : subject.startsWith("pay_") ? (
      <Link to="/operator/payouts" search={{ payout: subject }} className={LINK}>
        {text}
      </Link>
    ) : (
      <span className="font-medium">{text}</span>
    );
  return (
    <>
      {link}
      {id}
      {whose}
    </>
  );
}

export function AuditOutcome({ of }: { of: string | null }) {
  if (of === null) return <Badge>in progress</Badge>;
  return <Badge tone={of === "done" ? "good" : "bad"}>{of}</Badge>;
}
