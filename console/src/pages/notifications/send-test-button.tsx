/** A button that sends a test notification through one channel. */
import type { Account } from "../../api/answer-types.ts";
import { useSendTestNotification } from "../../data/notifications.ts";
import { Button } from "../../ui/button.tsx";
import { toast, toastError } from "../../ui/toast.tsx";

interface Props {
  account: Account;
  channel: "email" | "webhook" | "slack";
}

export function SendTestButton({ account, channel }: Props) {
  const { mutate, isPending } = useSendTestNotification(account.id);
  const send = (): void =>
    mutate(channel, {
      onSuccess: () => toast("A test message was sent. Its delivery is listed below."),
      onError: toastError,
    });
  return (
    <Button busy={isPending} onClick={send}>
      {channel === "email" ? "Test email" : "Send test"}
    </Button>
  );
}
