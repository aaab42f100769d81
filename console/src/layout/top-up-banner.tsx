/**
 * A banner on every builder page when automatic top-up was turned off after a failure. It stays until someone turns
 * top-up on again or confirms that it stays off. It is at the lower edge, so that the page does not shift.
 */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Account } from "../api/answer-types.ts";
import { TOP_UP_FAILURES } from "../credits/top-up-failures.ts";
import { creditsQuery, useSetTopUp } from "../data/credits.ts";
import { parseMicro, toWholeMicro } from "../dollar-amounts.ts";
import { keepFreeOfToasts } from "../ui/bottom-notice.ts";
import { Button, buttonClasses } from "../ui/button.tsx";
import { TriangleAlert } from "../ui/icons.tsx";
import { toast, toastError } from "../ui/toast.tsx";

const LOOK_EVERY_MS = 60_000;

export function TopUpBanner({ builder }: { builder: Account | undefined }) {
  const { data } = useQuery({
    ...creditsQuery,
    enabled: builder !== undefined,
    // A platform without purchases always refuses this request, so it is not repeated.
    refetchInterval: ({ state }) => (state.status === "error" ? false : LOOK_EVERY_MS),
  });
  const topUp = data?.top_up;
  if (builder === undefined || topUp == null || topUp.enabled || topUp.failure === null) return null;
  return (
    <div
      ref={keepFreeOfToasts}
      role="alert"
      className="sticky bottom-0 z-20 flex flex-wrap items-center gap-x-4 gap-y-2 border-t border-line bg-bad-soft px-4 py-2 text-bad sm:px-6 lg:px-8"
    >
      <TriangleAlert aria-hidden className="size-4 shrink-0" />
      <p className="min-w-0 flex-1 basis-60 font-medium">
        Automatic top-up is off: {TOP_UP_FAILURES[topUp.failure]} Requests are refused when the balance is used up.
      </p>
      {builder.may.includes("pay") && (
        <div className="flex flex-wrap gap-2">
          <Link to="/credits" className={buttonClasses("plain", "small")}>
            Fix top-up
          </Link>
          <KeepOff topUp={topUp} />
        </div>
      )}
    </div>
  );
}

function KeepOff({ topUp }: { topUp: { amount_micro: string; mark_micro: string; month_max_micro: string } }) {
  const set = useSetTopUp();
  const { amount_micro, mark_micro, month_max_micro } = topUp;
  const keepOff = (): void =>
    set.mutate(
      {
        enabled: false,
        amount_micro: toWholeMicro(parseMicro(amount_micro)),
        mark_micro: toWholeMicro(parseMicro(mark_micro)),
        month_max_micro: toWholeMicro(parseMicro(month_max_micro)),
      },
      { onSuccess: () => toast("Automatic top-up stays off"), onError: toastError },
    );
  return (
    <Button look="quiet" size="small" busy={set.isPending} onClick={keepOff}>
      Keep it off
    </Button>
  );
}
