/** Packs of credit. Paying happens on the payment provider's page. */
import { useQuery } from "@tanstack/react-query";
import { CreditCard } from "lucide-react";
import { isBillingDisabled, packsQuery, useCheckout } from "../../data/credits.ts";
import { useMay } from "../../data/session.ts";
import { RoleNote } from "../../team/role-note.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Money } from "../../ui/money.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { toastError } from "../../ui/toast.tsx";

export function Packs() {
  const packs = useQuery(packsQuery);
  const checkout = useCheckout();
  const mayPay = useMay("builder")("pay");
  const buy = (packId: string): void =>
    checkout.mutate(packId, { onSuccess: ({ url }) => location.assign(url), onError: toastError });
  // The button stays busy until the other page is there.
  const under = checkout.isPending || checkout.isSuccess ? checkout.variables : undefined;
  return (
    <Card title="Add credits">
      {isBillingDisabled(packs.error) ? (
        <Empty icon={<CreditCard aria-hidden />} title="Purchases are not available">
          Payments are not set up on this platform. Its operators can grant you credit.
        </Empty>
      ) : (
        <Loaded query={packs}>
          {({ data }) => (
            <>
              <RoleNote kind="builder" need="pay" />
              <ul className="grid grid-cols-2 gap-3 lg:grid-cols-4">
                {data.map(({ id, name, credit_micro, price_micro }) => (
                  <li key={id} className="flex flex-col gap-3 rounded-md border border-line p-4">
                    <div>
                      <p className="text-xl font-semibold tracking-tight">
                        <Money of={credit_micro} as="balance" />
                      </p>
                      {price_micro !== credit_micro && (
                        <p className="text-xs text-ink-soft">
                          for <Money of={price_micro} />
                        </p>
                      )}
                    </div>
                    <Button
                      busy={under === id}
                      disabled={under !== undefined || !mayPay}
                      onClick={() => buy(id)}
                      aria-label={`Buy ${name}`}
                    >
                      Buy
                    </Button>
                  </li>
                ))}
              </ul>
              <p className="mt-3 text-xs text-ink-soft">
                You pay on the payment provider's page. Card numbers never reach this platform.
              </p>
            </>
          )}
        </Loaded>
      )}
    </Card>
  );
}
