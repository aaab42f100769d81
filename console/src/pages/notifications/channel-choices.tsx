/** A table of notification kinds and channels. Each checkbox is saved when it is clicked. */
import type { Account, NotificationSettings } from "../../api/answer-types.ts";
import { useSetNotifications } from "../../data/notifications.ts";
import { toastError } from "../../ui/toast.tsx";
import { CHANNEL_NAMES, NOTIFICATION_KIND_TEXTS } from "./notification-texts.ts";
import { SendTestButton } from "./send-test-button.tsx";

interface Props {
  account: Account;
  settings: NotificationSettings;
  mayChange: boolean;
}

const NAMES = ["console", "email", "webhook", "slack"] as const;

export function ChannelChoices({ account, settings, mayChange }: Props) {
  const set = useSetNotifications(account.id);
  const missing = {
    console: false,
    email: !settings.can_mail,
    webhook: !settings.webhook_url,
    slack: !settings.slack_url,
  };
  const withoutAddress = (["webhook", "slack"] as const)
    .filter((channel) => missing[channel])
    .map((channel) => CHANNEL_NAMES[channel])
    .join(" and ");
  return (
    <>
      <table className="w-full border-t border-line">
        <thead>
          <tr className="text-xs text-ink-soft">
            <th scope="col" className="px-4 py-2 text-left font-medium sm:px-5">
              Event
            </th>
            {NAMES.map((channel) => (
              <th
                key={channel}
                scope="col"
                className="px-1 py-2 text-center font-medium last:pr-4 sm:px-3 sm:last:pr-5"
              >
                {CHANNEL_NAMES[channel]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {settings.kinds.map(({ kind, channels }) => (
            <tr key={kind} className="border-t border-line">
              <th scope="row" className="px-4 py-2.5 text-left font-normal sm:px-5">
                <span className="font-medium">{NOTIFICATION_KIND_TEXTS[kind].name}</span>
                <span className="hidden text-ink-soft sm:block">{NOTIFICATION_KIND_TEXTS[kind].about}</span>
              </th>
              {NAMES.map((channel) => (
                <td key={channel} className="px-1 py-2.5 text-center last:pr-4 sm:px-3 sm:last:pr-5">
                  <input
                    type="checkbox"
                    aria-label={`${NOTIFICATION_KIND_TEXTS[kind].name} to ${CHANNEL_NAMES[channel]}`}
                    checked={channels[channel]}
                    disabled={!mayChange || missing[channel] || set.isPending}
                    onChange={({ target }) =>
                      set.mutate({ kinds: { [kind]: { [channel]: target.checked } } }, { onError: toastError })
                    }
                    className="size-4 accent-accent disabled:opacity-50"
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div className="flex flex-wrap items-center justify-between gap-3 border-t border-line px-4 py-3 sm:px-5">
        <p className="text-xs text-ink-soft">
          {settings.can_mail
            ? "Emails go to the owners of the account. "
            : "This platform does not send email yet. Its operators have to set up email first. "}
          {withoutAddress !== "" && `${withoutAddress} messages are sent once an address is set below. `}
          {!mayChange && `Your role is ${account.role}. Only owners and billing contacts can change this.`}
        </p>
        {settings.can_mail && mayChange && <SendTestButton account={account} channel="email" />}
      </div>
    </>
  );
}
