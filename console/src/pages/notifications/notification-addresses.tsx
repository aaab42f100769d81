/** The addresses of an account's webhooks, each with a button that sends a test. */
import { type ReactNode, useState } from "react";
import type { Account, NotificationSettings } from "../../api/answer-types.ts";
import { useReplaceWebhookSecret, useSetNotifications } from "../../data/notifications.ts";
import { NewSecret, newSecretTitle } from "../../secrets/new-secret.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { ConfirmDialog, Dialog } from "../../ui/dialog.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError, TextField } from "../../ui/form-fields.tsx";
import { toast } from "../../ui/toast.tsx";
import { SendTestButton } from "./send-test-button.tsx";

interface Props {
  account: Account;
  settings: NotificationSettings;
  mayChange: boolean;
}

export function NotificationAddresses({ account, settings, mayChange }: Props) {
  const [secret, setSecret] = useState<string | null>(null);
  const [replacing, setReplacing] = useState(false);
  const replace = useReplaceWebhookSecret(account.id);
  const { webhook_url, slack_url } = settings;
  const testButton = (channel: "webhook" | "slack") =>
    mayChange && <SendTestButton account={account} channel={channel} />;
  return (
    <div className="grid grid-cols-1 gap-5 lg:grid-cols-2">
      <Card title="Webhook">
        <p className="mb-4 text-ink-soft">
          A POST request with JSON, signed with this account's webhook secret. The{" "}
          <a href="/docs/guide/notifications" className="text-accent underline">
            guide
          </a>{" "}
          has code that verifies the signature.
        </p>
        <Address
          {...{ account, mayChange }}
          field="webhook_url"
          label="Webhook URL"
          url={webhook_url}
          onSecret={setSecret}
        >
          {webhook_url !== null && testButton("webhook")}
          {webhook_url !== null && mayChange && (
            <Button look="quiet" onClick={() => setReplacing(true)}>
              Replace secret
            </Button>
          )}
        </Address>
      </Card>
      <Card title="Slack">
        <p className="mb-4 text-ink-soft">
          An incoming webhook of Slack, Mattermost or another Slack-compatible service. Once it is saved, only the
          beginning of its URL is shown.
        </p>
        <Address {...{ account, mayChange }} field="slack_url" label="Slack webhook URL" url={slack_url} hidden>
          {slack_url !== null && testButton("slack")}
        </Address>
      </Card>
      <Dialog open={secret !== null} onClose={() => setSecret(null)} {...newSecretTitle("webhook secret")}>
        <NewSecret noun="webhook secret" secret={secret ?? ""} onDone={() => setSecret(null)} />
      </Dialog>
      <ConfirmDialog
        open={replacing}
        onClose={() => setReplacing(false)}
        title="Replace the webhook secret?"
        action="Replace secret"
        busy={replace.isPending}
        error={replace.error}
        onConfirm={() =>
          replace.mutate(undefined, {
            onSuccess: ({ webhook_secret }) => {
              setReplacing(false);
              setSecret(webhook_secret);
            },
          })
        }
      >
        All webhooks are signed with the new secret immediately. Your receiver rejects them until you store the new
        secret there.
      </ConfirmDialog>
    </div>
  );
}

interface AddressProps {
  account: Account;
  mayChange: boolean;
  field: "webhook_url" | "slack_url";
  label: string;
  url: string | null;
  /** Whether to show only the beginning of the address, because the full address is a secret. */
  hidden?: boolean;
  onSecret?: (secret: string | null) => void;
  children: ReactNode;
}

function Address({ account, mayChange, field, label, url, hidden = false, onSecret, children }: AddressProps) {
  const set = useSetNotifications(account.id);
  const save = (next: string | null): void =>
    set.mutate(
      { [field]: next },
      {
        onSuccess: ({ webhook_secret }) => {
          toast(next === null ? "Address removed" : "Address saved");
          onSecret?.(webhook_secret);
        },
      },
    );
  return (
    <Form
      key={url}
      onSubmit={(fields) => save(readTextField(fields, "address").trim())}
      error={set.error}
      fields={[field]}
    >
      <TextField
        label={label}
        name="address"
        type="url"
        inputMode="url"
        autoComplete="off"
        required
        maxLength={2000}
        placeholder={hidden && url !== null ? url : "https://"}
        defaultValue={hidden ? "" : (url ?? "")}
        disabled={!mayChange}
        error={findFieldError(set.error, field)}
      />
      <div className="flex flex-wrap gap-2">
        {mayChange && (
          <Button type="submit" busy={set.isPending}>
            Save
          </Button>
        )}
        {children}
        {mayChange && url !== null && (
          <Button look="quiet" disabled={set.isPending} onClick={() => save(null)}>
            Remove
          </Button>
        )}
      </div>
    </Form>
  );
}
