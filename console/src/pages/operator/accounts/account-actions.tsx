/** The buttons for operators' actions on an account. */
import { useState } from "react";
import type { PlatformAccount } from "../../../api/answer-types.ts";
import { Button } from "../../../ui/button.tsx";
import { GrantCreditDialog } from "./grant-credit-dialog.tsx";
import { SuspensionDialog } from "./suspension-dialog.tsx";

export function AccountActions({ account }: { account: PlatformAccount }) {
  const [task, setTask] = useState<"grant" | "suspension">();
  const { kind, suspended_at, deleted_at } = account;
  const done = (): void => setTask(undefined);
  if (deleted_at !== null) return null;
  return (
    <div className="flex flex-wrap gap-2">
      {kind === "builder" && <Button onClick={() => setTask("grant")}>Grant credit</Button>}
      <Button look={suspended_at === null ? "danger" : "plain"} onClick={() => setTask("suspension")}>
        {suspended_at === null ? "Suspend" : "Restore"}
      </Button>
      {task === "grant" && <GrantCreditDialog account={account} onClose={done} />}
      {task === "suspension" && <SuspensionDialog account={account} onClose={done} />}
    </div>
  );
}
