/**
 * A banner during outages of the gateway or its dependencies: what is unreachable, since when, and how old the data is.
 * It closes when the outage ends.
 */

import { type ReactNode, useState } from "react";
import { gatewayReachability } from "../api/gateway-requests.ts";
import { useOutage } from "../data/outage.ts";
import { useAreRequestsRefused, useGatewayHealth, useOldestShownTime } from "../data/outdated-data.ts";
import { formatClockTime } from "../locale.ts";
import { Button } from "../ui/button.tsx";
import { CloudOff } from "../ui/icons.tsx";
import { describeOutage } from "./outage-text.ts";

export function GatewayBanner() {
  const away = useOutage();
  return (
    // The element is always present, so that screen readers announce its content when it appears.
    <div role="status" className="sticky top-13 z-20 lg:top-0">
      {away === undefined ? (
        <OldData />
      ) : (
        <Banner action={<RetryNow />}>
          Gateway unreachable since {formatClockTime(away.since)},{" "}
          {away.dataAt === undefined ? "no data loaded yet" : `showing data from ${formatClockTime(away.dataAt)}`}
        </Banner>
      )}
    </div>
  );
}

/** Shown if the gateway responds but has no newer data. */
function OldData() {
  const dataAt = useOldestShownTime();
  const refused = useAreRequestsRefused();
  const isWrong = dataAt !== undefined || refused;
  const { data: health } = useGatewayHealth(isWrong);
  if (!isWrong) return null;
  return <Banner>{describeOutage({ unreachable: health?.unreachable ?? [], dataAt })}</Banner>;
}

function RetryNow() {
  const [busy, setBusy] = useState(false);
  const tryNow = (): void => {
    setBusy(true);
    void gatewayReachability.tryNow().finally(() => setBusy(false));
  };
  return (
    <Button size="small" busy={busy} onClick={tryNow}>
      Retry now
    </Button>
  );
}

const Banner = ({ children, action }: { children: ReactNode; action?: ReactNode }) => (
  <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line bg-warn-soft px-4 py-2 text-warn sm:px-6 lg:px-8">
    <CloudOff aria-hidden className="size-4 shrink-0" />
    <p className="min-w-0 flex-1 basis-60 font-medium">{children}</p>
    {action}
  </div>
);
