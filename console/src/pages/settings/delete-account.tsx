/** A dialog that deletes an account. It says what is deleted and what is kept before the user confirms. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Account } from "../../api/answer-types.ts";
import { deletionQuery, useDeleteAccount } from "../../data/account-and-person-deletion.ts";
import { formatExactDollars, parseMicro } from "../../dollar-amounts.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { LoadedQuery } from "../../ui/loading-states.tsx";
import { Notice } from "../../ui/notice.tsx";
import { formatCount } from "../../ui/time-text.tsx";
import { toast } from "../../ui/toast.tsx";
import { ConfirmDeletion } from "./confirm-deletion.tsx";

interface Props {
  account: Account;
  twoFactor: boolean;
  onClose: () => void;
}

export function DeleteAccountDialog({ account: { id, name, kind }, twoFactor, onClose }: Props) {
  const plan = useQuery(deletionQuery(id));
  const remove = useDeleteAccount(id);
  const navigate = useNavigate();
  const done = (): void => {
    onClose();
    toast(`Deleted ${name}`);
    void navigate({ to: "/settings" });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      sticky
      title={`Delete ${name}?`}
      about="This cannot be undone. Export the account first."
    >
      <LoadedQuery query={plan}>
        {({ given_up_micro, keys, nodes, people, blockers }) => (
          <ConfirmDeletion
            mutation={remove}
            expected={name}
            field="name"
            twoFactor={twoFactor}
            blocked={blockers.length > 0}
            action="Delete account"
            onCancel={onClose}
            onDone={done}
          >
            {blockers.map((why) => (
              <Notice key={why} tone="warn" title="It cannot be deleted yet">
                {why}
              </Notice>
            ))}
            <ul className="flex list-disc flex-col gap-1.5 pl-5 text-ink-soft">
              <li>{givenUp(kind, parseMicro(given_up_micro))}</li>
              <li>
                {kind === "builder"
                  ? `${many(keys, "API key")} ${keys === 1 ? "stops" : "stop"} working immediately.`
                  : `${many(keys, "host token")} ${keys === 1 ? "stops" : "stop"} working immediately, and ${many(nodes, "node")} ${nodes === 1 ? "is" : "are"} retired.`}
              </li>
              <li>{`Everyone in the team loses access, including you, and gets an email: ${many(people, "person", "people")}.`}</li>
              <li>
                Names, labels, settings, notifications and the saved card are deleted. Amounts, tokens and times of
                requests stay in the ledger under {id}, because the platform must keep its accounting records.
              </li>
            </ul>
          </ConfirmDeletion>
        )}
      </LoadedQuery>
    </Dialog>
  );
}

function givenUp(kind: Account["kind"], amount: bigint): string {
  const what = kind === "builder" ? "credit" : "earnings";
  if (amount <= 0n) return `This account has no ${what} left.`;
  const how =
    kind === "builder"
      ? "Before you delete the account, use the credit or ask the operator for a refund."
      : "To receive your earnings, wait for the next payout.";
  return `You give up ${formatExactDollars(amount)} of ${what}. ${how}`;
}

const many = (size: number, one: string, more = `${one}s`): string => `${formatCount(size)} ${size === 1 ? one : more}`;
