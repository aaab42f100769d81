/**
 * Warns about missing credit before a message is sent. Links to the credits page, or names the people who may buy
 * credit.
 */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { balanceQuery } from "../../data/balance-and-usage.ts";
import { usePermissions } from "../../data/signed-in-session.ts";
import { parseMicro } from "../../dollar-amounts.ts";
import { describePermittedRoles } from "../../team/roles.ts";
import { buttonClasses } from "../../ui/button.tsx";
import { Notice } from "../../ui/notice.tsx";

export function CreditNotice({ account }: { account: string }) {
  const { data: balance } = useQuery(balanceQuery);
  const mayPay = usePermissions("builder")("pay");
  if (balance === undefined || parseMicro(balance.available_micro) > 0n) return null;
  const isHeld = parseMicro(balance.held_micro) > 0n;
  return (
    <div role="status" className="px-3 py-3 sm:px-4">
      <Notice
        tone="warn"
        title={`${account} has no available credit`}
        action={
          mayPay && (
            <Link to="/credits" className={buttonClasses("primary")}>
              Add credit
            </Link>
          )
        }
      >
        {isHeld
          ? "The remaining credit is held by requests in flight. It is released when they end."
          : `Messages are refused until credit is added.${mayPay ? "" : ` Ask ${describePermittedRoles("pay")} to add it.`}`}
      </Notice>
    </div>
  );
}
