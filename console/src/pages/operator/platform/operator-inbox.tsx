/** Decisions that wait for an operator, with the facts for each. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Triage } from "../../../api/answer-types.ts";
import { explainQuarantine, listEvidence } from "../../../nodes/quarantine-texts.ts";
import { Badge, type Tone } from "../../../ui/badge.tsx";
import { Card } from "../../../ui/card.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { CountText, TimeText } from "../../../ui/time-text.tsx";

const LINK = "font-medium text-accent underline-offset-2 hover:underline";
const EVIDENCE_MAX = 4;

export function OperatorInbox({
  of: { quarantines, payouts, disputes, settlements_given_up },
  age,
}: {
  of: Triage["inbox"];
  /** Says when the decisions were read, if they are outdated. */
  age: ReactNode;
}) {
  const open = quarantines.length + payouts.length + disputes.length + (settlements_given_up > 0 ? 1 : 0);
  return (
    <Card title={open === 0 ? "Decisions" : `Decisions (${open})`} aside={age} flush>
      {open === 0 ? (
        <p className="px-4 pb-4 text-ink-soft sm:px-5">Nothing needs your decision.</p>
      ) : (
        <ul aria-label="Decisions" className="border-t border-line">
          {settlements_given_up > 0 && (
            <Item
              tone="bad"
              word="settlements"
              title={
                <a href="/docs/guide/operators/runbook#tollgatesettlementgivenup" className={LINK}>
                  <CountText of={settlements_given_up} />{" "}
                  {settlements_given_up === 1 ? "settlement was" : "settlements were"} given up
                </a>
              }
            >
              The database permanently refused these settlements. The file given-up.jsonl in the spool directory lists
              each with the reason.
            </Item>
          )}
          {disputes.map(({ id, account, account_name, amount_micro, at }) => (
            <Item
              key={id}
              tone="bad"
              word="dispute"
              at={at}
              title={
                <Link to="/operator/accounts/$id" params={{ id: account }} className={LINK}>
                  {account_name}
                </Link>
              }
            >
              <MoneyText of={amount_micro} exact /> disputed with the card's bank. Answer it at the payment provider:{" "}
              <code className="inline-block max-w-full font-mono text-xs break-all">{id}</code>
            </Item>
          ))}
          {quarantines.map(({ node, name, account_name, quarantine }) => (
            <Item
              key={node}
              tone="warn"
              word="quarantine"
              at={quarantine.at}
              title={
                <Link to="/operator/nodes" search={{ node }} className={LINK}>
                  {name}
                </Link>
              }
              beside={account_name}
            >
              {explainQuarantine(quarantine).title}
              <Evidence of={quarantine} />
            </Item>
          ))}
          {payouts.map(({ id, note, created_at, hosts, total_micro }) => (
            <Item
              key={id}
              tone="neutral"
              word="payout"
              at={created_at}
              title={
                <Link to="/operator/payouts" search={{ payout: id }} className={LINK}>
                  {note === "" ? "Open payout" : note}
                </Link>
              }
            >
              <MoneyText of={total_micro} exact /> to <CountText of={hosts} /> {hosts === 1 ? "host" : "hosts"}. Pay the
              hosts, then mark the payout as paid.
            </Item>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Evidence({ of }: { of: Triage["inbox"]["quarantines"][number]["quarantine"] }) {
  const found = listEvidence(of).slice(0, EVIDENCE_MAX);
  if (found.length === 0) return null;
  return (
    <dl aria-label="Evidence" className="mt-1 flex flex-wrap gap-x-4 gap-y-0.5 text-xs">
      {found.map(([name, value]) => (
        <div key={name} className="flex min-w-0 gap-1.5">
          <dt className="text-ink-soft">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface ItemProps {
  tone: Tone;
  word: string;
  title: ReactNode;
  beside?: string;
  at?: number;
  children: ReactNode;
}

const Item = ({ tone, word, title, beside, at, children }: ItemProps) => (
  <li className="grid gap-x-6 gap-y-1.5 border-b border-line px-4 py-3 last:border-b-0 sm:px-5 md:grid-cols-[14rem_minmax(0,1fr)]">
    <div className="min-w-0">
      <span className="block truncate">{title}</span>
      {beside !== undefined && <span className="block truncate text-xs text-ink-soft">{beside}</span>}
    </div>
    <div className="flex min-w-0 flex-wrap items-baseline gap-x-2 gap-y-0.5">
      <Badge tone={tone}>{word}</Badge>
      <div className="min-w-0 flex-1 basis-60 wrap-anywhere">{children}</div>
      {at !== undefined && (
        <span className="text-xs whitespace-nowrap text-ink-soft">
          <TimeText at={at} as="ago" />
        </span>
      )}
    </div>
  </li>
);
