/** An account's state, balances and age, for operators. */
import type { PlatformAccount } from "../../../api/answer-types.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Property } from "../../../ui/drawer.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { TimeText } from "../../../ui/time-text.tsx";

type Of<Field extends keyof PlatformAccount> = { account: Pick<PlatformAccount, Field> };

export function AccountState({ account: { suspended_at, deleted_at } }: Of<"suspended_at" | "deleted_at">) {
  if (deleted_at !== null) {
    return (
      <>
        <Badge tone="neutral">deleted</Badge> by its owner, <TimeText at={deleted_at} as="full" />
      </>
    );
  }
  if (suspended_at === null) return <Badge tone="good">active</Badge>;
  return (
    <>
      <Badge tone="bad">suspended</Badge> <TimeText at={suspended_at} as="full" />
    </>
  );
}

/** Rows for a surrounding `PropertyList`. */
export function AccountMoneySummary({ account }: Of<"kind" | "balance_micro" | "held_micro" | "created_at">) {
  const { kind, balance_micro, held_micro, created_at } = account;
  return (
    <>
      <Property name={kind === "host" ? "Owed" : "Balance"}>
        <MoneyText of={balance_micro} exact />
      </Property>
      {kind === "builder" && (
        <Property name="Held">
          <MoneyText of={held_micro} exact />
        </Property>
      )}
      <Property name="Created">
        <TimeText at={created_at} as="full" />
      </Property>
    </>
  );
}
