/** An account's state, balances and age, for operators. */
import type { PlatformAccount } from "../../../api/types.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Fact } from "../../../ui/drawer.tsx";
import { Money } from "../../../ui/money.tsx";
import { Time } from "../../../ui/time.tsx";

type Of<Field extends keyof PlatformAccount> = { account: Pick<PlatformAccount, Field> };

export function AccountState({ account: { suspended_at, deleted_at } }: Of<"suspended_at" | "deleted_at">) {
  if (deleted_at !== null) {
    return (
      <>
        <Badge tone="neutral">deleted</Badge> by its owner, <Time at={deleted_at} as="full" />
      </>
    );
  }
  if (suspended_at === null) return <Badge tone="good">active</Badge>;
  return (
    <>
      <Badge tone="bad">suspended</Badge> <Time at={suspended_at} as="full" />
    </>
  );
}

/** Rows for a surrounding `FactList`. */
export function MoneyFacts({ account }: Of<"kind" | "balance_micro" | "held_micro" | "created_at">) {
  const { kind, balance_micro, held_micro, created_at } = account;
  return (
    <>
      <Fact name={kind === "host" ? "Owed" : "Balance"}>
        <Money of={balance_micro} exact />
      </Fact>
      {kind === "builder" && (
        <Fact name="Held">
          <Money of={held_micro} exact />
        </Fact>
      )}
      <Fact name="Created">
        <Time at={created_at} as="full" />
      </Fact>
    </>
  );
}
