/** Automatic top-up: the saved payment card, the rule, and why top-up was turned off. */
import { useState } from "react";
import type { Credits } from "../../api/answer-types.ts";
import { TOP_UP_FAILURES } from "../../credits/top-up-failures.ts";
import { useSetTopUp } from "../../data/credits.ts";
import { AmountField } from "../../ui/amount-field.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError } from "../../ui/form-fields.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { Notice } from "../../ui/notice.tsx";
import { TimeText } from "../../ui/time-text.tsx";
import { toast } from "../../ui/toast.tsx";
import {
  type AmountBounds,
  formatAmountForInput,
  MONTHLY_TOP_UP_BOUNDS,
  PURCHASE_BOUNDS,
  parseAmount,
  THRESHOLD_BOUNDS,
} from "./parse-amount.ts";
import { SavedCard } from "./saved-card.tsx";

type TopUp = NonNullable<Credits["top_up"]>;

const FIELDS = [
  { name: "mark_micro", label: "Balance below", bounds: THRESHOLD_BOUNDS, start: "5000000" },
  { name: "amount_micro", label: "Buy", bounds: PURCHASE_BOUNDS, start: "20000000" },
  { name: "month_max_micro", label: "Monthly maximum", bounds: MONTHLY_TOP_UP_BOUNDS, start: "100000000" },
] as const satisfies readonly { name: keyof TopUp; label: string; bounds: AmountBounds; start: string }[];

type Name = (typeof FIELDS)[number]["name"];

export function TopUpCard({ credits: { top_up, method } }: { credits: Credits }) {
  const set = useSetTopUp();
  const [wrong, setWrong] = useState<Partial<Record<Name, string>>>({});
  const on = top_up?.enabled === true;
  const submit = (form: FormData, enabled: boolean): void => {
    const read = FIELDS.map(({ name, bounds }) => [name, parseAmount(readTextField(form, name), bounds)] as const);
    setWrong(Object.fromEntries(read.flatMap(([name, one]) => ("wrong" in one ? [[name, one.wrong]] : []))));
    const amounts = Object.fromEntries(read.flatMap(([name, one]) => ("micro" in one ? [[name, one.micro]] : [])));
    if (Object.keys(amounts).length < FIELDS.length) return;
    if (BigInt(amounts.month_max_micro ?? 0) < BigInt(amounts.amount_micro ?? 0)) {
      setWrong({ month_max_micro: "Must be at least the amount of one purchase." });
      return;
    }
    const words = enabled ? "Automatic top-up is on" : "Automatic top-up is off";
    set.mutate({ enabled, ...(amounts as Record<Name, string>) }, { onSuccess: () => toast(words) });
  };
  return (
    <Card title="Automatic top-up" aside={<Badge tone={on ? "good" : "neutral"}>{on ? "on" : "off"}</Badge>}>
      <div className="flex flex-col gap-4">
        <p className="text-ink-soft">
          Buys credit with your saved card when the balance is low, at most once every 10 minutes. If a purchase fails
          or is refunded or disputed, top-up turns off and owners get an email.
        </p>
        {top_up?.failure != null && (
          <Notice tone="bad" title="Automatic top-up was turned off">
            {TOP_UP_FAILURES[top_up.failure]}
            {top_up.failed_at !== null && (
              <>
                {" "}
                (<TimeText at={top_up.failed_at} />)
              </>
            )}
          </Notice>
        )}
        <SavedCard method={method} />
        <Form
          key={JSON.stringify(top_up)}
          onSubmit={(form) => submit(form, true)}
          error={set.error}
          fields={FIELDS.map(({ name }) => name)}
        >
          <div className="grid items-start gap-4 sm:grid-cols-3 lg:grid-cols-1 xl:grid-cols-3">
            {FIELDS.map(({ name, label, start }) => (
              <AmountField
                key={name}
                label={label}
                name={name}
                required
                defaultValue={formatAmountForInput(top_up === null ? start : top_up[name])}
                error={wrong[name] ?? findFieldError(set.error, name)}
              />
            ))}
          </div>
          <p className="text-xs text-ink-soft">
            Amounts in dollars.{" "}
            {top_up !== null && (
              <>
                Automatic purchases this month (UTC): <MoneyText of={top_up.month_spent_micro} exact />.
              </>
            )}
          </p>
          <div className="flex flex-wrap gap-2">
            <Button type="submit" busy={set.isPending} disabled={method === null}>
              {on ? "Save top-up" : "Turn on top-up"}
            </Button>
            {on && (
              <Button
                look="quiet"
                disabled={set.isPending}
                onClick={(event) => {
                  const { form } = event.currentTarget;
                  if (form !== null) submit(new FormData(form), false);
                }}
              >
                Turn off top-up
              </Button>
            )}
          </div>
        </Form>
      </div>
    </Card>
  );
}
