/** While the gateway does not answer: since when, and of when the data on the page is. It goes away by itself. */

import { useState } from "react";
import { reach } from "../api/gateway.ts";
import { useAway } from "../data/reach.ts";
import { clockText } from "../locale.ts";
import { Button } from "../ui/button.tsx";
import { CloudOff } from "../ui/icons.tsx";

export function GatewayBanner() {
  const away = useAway();
  const [busy, setBusy] = useState(false);
  const tryNow = (): void => {
    setBusy(true);
    void reach.tryNow().finally(() => setBusy(false));
  };
  return (
    // There before it is needed: what comes into it is said aloud.
    <div role="status" className="sticky top-13 z-20 lg:top-0">
      {away !== undefined && (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line bg-warn-soft px-4 py-2 text-warn sm:px-6 lg:px-8">
          <CloudOff aria-hidden className="size-4 shrink-0" />
          <p className="min-w-0 flex-1 basis-60 font-medium">
            Gateway unreachable since {clockText(away.since)},{" "}
            {away.dataAt === undefined ? "no data loaded yet" : `showing data from ${clockText(away.dataAt)}`}
          </p>
          <Button size="small" busy={busy} onClick={tryNow}>
            Retry now
          </Button>
        </div>
      )}
    </div>
  );
}
