/** Sells packs of credit and custom amounts. The user pays on the payment provider's page. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { CheckoutRequest } from "../../api/answer-types.ts";
import { creditPacksQuery, isBillingDisabled, useCheckout } from "../../data/credits.ts";
import { usePermissions } from "../../data/signed-in-session.ts";
import { formatExactDollars } from "../../dollar-amounts.ts";
import { RoleNote } from "../../team/role-note.tsx";
import { AmountField } from "../../ui/amount-field.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError } from "../../ui/form-fields.tsx";
import { CreditCard } from "../../ui/icons.tsx";
import { EmptyState, LoadedQuery } from "../../ui/loading-states.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { toastError } from "../../ui/toast.tsx";
import { formatAmountForInput, PURCHASE_BOUNDS, parseAmount } from "./parse-amount.ts";

export function CreditPacks() {
  const packs = useQuery(creditPacksQuery);
  const checkout = useCheckout();
  const mayPay = usePermissions("builder")("pay");
  const buy = (what: CheckoutRequest): void =>
    checkout.mutate(what, { onSuccess: ({ url }) => location.assign(url), onError: toastError });
  // The button stays busy until the payment provider's page opens.
  const under = checkout.isPending || checkout.isSuccess ? checkout.variables : undefined;
  return (
    <Card title="Add credits">
      {isBillingDisabled(packs.error) ? (
        <EmptyState icon={<CreditCard aria-hidden />} title="Purchases are not available">
          Payments are not set up on this platform. Its operators can grant you credit.
        </EmptyState>
      ) : (
        <LoadedQuery query={packs}>
          {({ data }) => (
            <>
              <RoleNote kind="builder" need="pay" />
              <ul className="grid grid-cols-2 gap-3 lg:grid-cols-4">
                {data.map(({ id, name, credit_micro, price_micro }) => (
                  <li key={id} className="flex flex-col gap-3 rounded-md border border-line p-4">
                    <div>
                      <p className="text-xl font-semibold tracking-tight">
                        <MoneyText of={credit_micro} as="chosen" />
                      </p>
                      {price_micro !== credit_micro && (
                        <p className="text-xs text-ink-soft">
                          for <MoneyText of={price_micro} as="chosen" />
                        </p>
                      )}
                    </div>
                    <Button
                      busy={under?.pack_id === id}
                      disabled={under !== undefined || !mayPay}
                      onClick={() => buy({ pack_id: id })}
                      aria-label={`Buy ${name}`}
                    >
                      Buy
                    </Button>
                  </li>
                ))}
              </ul>
              <CustomAmount
                busy={under?.amount_micro !== undefined}
                disabled={under !== undefined}
                error={checkout.error}
                onBuy={(amount) => buy({ amount_micro: amount })}
              />
              <p className="mt-3 text-xs text-ink-soft">
                You pay on the payment provider's page. Card numbers never reach this platform.
              </p>
            </>
          )}
        </LoadedQuery>
      )}
    </Card>
  );
}

interface CustomAmountProps {
  busy: boolean;
  disabled: boolean;
  error: unknown;
  /** The amount in microdollars, as the API accepts it. */
  onBuy: (amount: string) => void;
}

function CustomAmount({ busy, disabled, error, onBuy }: CustomAmountProps) {
  const [wrong, setWrong] = useState<string>();
  const submit = (fields: FormData): void => {
    const read = parseAmount(readTextField(fields, "amount"), PURCHASE_BOUNDS);
    setWrong("wrong" in read ? read.wrong : undefined);
    if ("micro" in read) onBuy(read.micro);
  };
  return (
    <Form onSubmit={submit} className="mt-4 max-w-sm">
      <div className="flex items-start gap-3">
        <AmountField
          label="Other amount ($)"
          name="amount"
          required
          placeholder={formatAmountForInput("75000000")}
          className="min-w-0 flex-1"
          hint={`From ${formatExactDollars(PURCHASE_BOUNDS.least)} to ${formatExactDollars(PURCHASE_BOUNDS.most)}.`}
          error={wrong ?? findFieldError(error, "amount_micro")}
        />
        <Button type="submit" className="mt-6.5" busy={busy} disabled={disabled} aria-label="Buy this amount">
          Buy
        </Button>
      </div>
    </Form>
  );
}
