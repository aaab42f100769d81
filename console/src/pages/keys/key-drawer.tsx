/** The details of one key: budgets, spending, outcomes of its requests, settings and actions. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiKey } from "../../api/answer-types.ts";
import { keyQuery } from "../../data/keys.ts";
import { API_KEY_KIND } from "../../keys/api-keys.ts";
import { BudgetBars } from "../../keys/budget-bar.tsx";
import type { KeyPermissions } from "../../keys/key-permissions.ts";
import { KeyBadges, KeyExpiry } from "../../keys/key-state.tsx";
import { RevokeSecretDialog } from "../../secrets/revoke-secret.tsx";
import { Button } from "../../ui/button.tsx";
import { Drawer, DrawerSection, IdLine, Property, PropertyList } from "../../ui/drawer.tsx";
import { Pencil, RefreshCw, Trash2 } from "../../ui/icons.tsx";
import { LoadedQuery } from "../../ui/loading-states.tsx";
import { CountText, TimeText } from "../../ui/time-text.tsx";
import { EditKeyDialog } from "./edit-key.tsx";
import { KeyRequests, KeySpend } from "./key-activity.tsx";
import { RotateKeyDialog } from "./rotate-key.tsx";

interface Props {
  id: string | undefined;
  onClose: () => void;
  /** What the person may change. Without permissions, the drawer has no buttons. */
  may: KeyPermissions;
}

export function KeyDrawer({ id, onClose, may }: Props) {
  const key = useQuery({ ...keyQuery(id ?? ""), enabled: id !== undefined });
  return (
    <Drawer open={id !== undefined} onClose={onClose} title={key.data?.name ?? "API key"}>
      <LoadedQuery query={key}>{(record) => <Details apiKey={record} may={may} />}</LoadedQuery>
    </Drawer>
  );
}

function Details({ apiKey, may }: { apiKey: ApiKey; may: KeyPermissions }) {
  const { id, start, created_by, revoked_at, old_secret_until } = apiKey;
  const hasBudget = apiKey.budget_day_micro !== null || apiKey.budget_month_micro !== null;
  return (
    <div className="flex flex-col gap-7">
      <div>
        <IdLine id={id} of="key" />
        <p className="mt-2 flex flex-wrap items-center gap-2">
          <code className="font-mono text-xs text-ink-soft">{start}_…</code>
          <KeyBadges of={apiKey} />
        </p>
        {may.revoke && revoked_at === null && <Actions apiKey={apiKey} mayEdit={may.edit(apiKey)} />}
      </div>
      <DrawerSection title="Budget">
        {hasBudget ? (
          <BudgetBars of={apiKey} />
        ) : (
          <p className="text-ink-soft">No budget. This key can spend all of the account's credit.</p>
        )}
      </DrawerSection>
      <KeySpend id={id} />
      <DrawerSection title="Settings">
        <PropertyList>
          <Property name="Models">{apiKey.models === null ? "All" : apiKey.models.join(", ")}</Property>
          <Property name="Expires">
            {apiKey.expires_at === null ? <KeyExpiry at={null} /> : <TimeText at={apiKey.expires_at} as="full" />}
          </Property>
          {old_secret_until !== null && (
            <Property name="Old secret expires">
              <TimeText at={old_secret_until} as="full" />
            </Property>
          )}
          <LimitFact name="Requests per minute" of="requests_per_minute" apiKey={apiKey} />
          <LimitFact name="Tokens per minute" of="tokens_per_minute" apiKey={apiKey} />
          <LimitFact name="Concurrent" of="in_flight" apiKey={apiKey} />
          <Property name="Created">
            <TimeText at={apiKey.created_at} as="full" />
            {created_by !== null && <span className="text-ink-soft"> by {created_by.name}</span>}
          </Property>
          <Property name="Last used">
            {apiKey.last_used_at === null ? (
              <span className="text-ink-soft">Never</span>
            ) : (
              <TimeText at={apiKey.last_used_at} as="ago" />
            )}
          </Property>
          {revoked_at !== null && (
            <Property name="Revoked">
              <TimeText at={revoked_at} as="full" />
            </Property>
          )}
        </PropertyList>
      </DrawerSection>
      <KeyRequests id={id} />
    </div>
  );
}

interface LimitProps {
  name: string;
  of: keyof ApiKey["limits"];
  apiKey: ApiKey;
}

/** The effective limit, and the maximum that the builder may set. */
function LimitFact({ name, of, apiKey: { limits, limits_max } }: LimitProps) {
  return (
    <Property name={name}>
      <CountText of={limits[of]} />
      {limits[of] < limits_max[of] && (
        <span className="text-ink-soft">
          {" "}
          (maximum <CountText of={limits_max[of]} />)
        </span>
      )}
    </Property>
  );
}

type Task = "edit" | "rotate" | "revoke";

function Actions({ apiKey, mayEdit }: { apiKey: ApiKey; mayEdit: boolean }) {
  const [task, setTask] = useState<Task>();
  const done = (): void => setTask(undefined);
  return (
    <div className="mt-3 flex flex-wrap gap-2">
      {mayEdit && (
        <>
          <Button size="small" onClick={() => setTask("edit")}>
            <Pencil aria-hidden className="size-3.5" />
            Edit
          </Button>
          <Button size="small" onClick={() => setTask("rotate")}>
            <RefreshCw aria-hidden className="size-3.5" />
            Rotate
          </Button>
        </>
      )}
      <Button size="small" look="danger" onClick={() => setTask("revoke")}>
        <Trash2 aria-hidden className="size-3.5" />
        Revoke
      </Button>
      {task === "edit" && <EditKeyDialog apiKey={apiKey} onClose={done} />}
      {task === "rotate" && <RotateKeyDialog apiKey={apiKey} onClose={done} />}
      {task === "revoke" && (
        <RevokeSecretDialog kind={API_KEY_KIND} secret={apiKey} onClose={done}>
          Requests with this key stop working immediately.{" "}
          {apiKey.last_used_at === null ? (
            "The key was never used."
          ) : (
            <>
              The key was last used <TimeText at={apiKey.last_used_at} as="ago" />.
            </>
          )}
        </RevokeSecretDialog>
      )}
    </div>
  );
}
