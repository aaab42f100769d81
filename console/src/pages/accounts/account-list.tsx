/** A person's accounts with their actions. A suspended account has no actions. */
import type { ReactNode } from "react";
import type { Account } from "../../api/answer-types.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";

interface Props {
  title: string;
  accounts: Account[];
  /** Shown below the account's name. */
  about: (account: Account) => ReactNode;
  action: (account: Account) => ReactNode;
}

export const AccountList = ({ title, accounts, about, action }: Props) => (
  <Card title={title} flush>
    <ul className="border-t border-line">
      {accounts.map((account) => (
        <li
          key={account.id}
          className="flex items-center justify-between gap-3 border-b border-line px-4 py-2.5 last:border-b-0 sm:px-5"
        >
          <span className="min-w-0">
            <span className="block truncate font-medium">{account.name}</span>
            <span className="text-xs text-ink-soft">{about(account)}</span>
          </span>
          {account.suspended ? <Badge tone="bad">suspended</Badge> : action(account)}
        </li>
      ))}
    </ul>
  </Card>
);
