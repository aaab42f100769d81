/** Exports and deletes the user's data: each account that the user owns, and the user's own sign-in. */
import { type ReactNode, useState } from "react";
import type { Account, Me } from "../../api/answer-types.ts";
import { buildRouteUrl } from "../../api/route-urls.ts";
import { Button, buttonClasses } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { DeleteAccountDialog } from "./delete-account.tsx";
import { DeletePersonDialog } from "./delete-person.tsx";

const SMALL = buttonClasses("plain", "small");

export function ExportAndDeleteCard({ me: { identity, accounts } }: { me: Me }) {
  const [leaving, setLeaving] = useState<Account | "person">();
  const done = (): void => setLeaving(undefined);
  const owned = accounts.filter(({ may }) => may.includes("own"));
  return (
    <Card title="Export and delete" flush>
      <ul className="border-t border-line">
        {owned.map((account) => (
          <Row key={account.id} name={account.name} about="Requests, statements, invoices and settings as a ZIP file">
            <a
              className={SMALL}
              href={buildRouteUrl("GET /console/api/accounts/{id}/export.zip", { path: { id: account.id } })}
              aria-label={`Export ${account.name}`}
              download
            >
              Export
            </a>
            <Button
              size="small"
              look="danger"
              aria-label={`Delete ${account.name}`}
              onClick={() => setLeaving(account)}
            >
              Delete
            </Button>
          </Row>
        ))}
        <Row name={identity.email} about="Your own profile, sessions and teams">
          <a
            className={SMALL}
            href={buildRouteUrl("GET /console/api/me/export.json")}
            aria-label="Export my data"
            download
          >
            Export
          </a>
          <Button size="small" look="danger" aria-label="Delete me" onClick={() => setLeaving("person")}>
            Delete
          </Button>
        </Row>
      </ul>
      {leaving === "person" && <DeletePersonDialog me={identity} onClose={done} />}
      {leaving !== undefined && leaving !== "person" && (
        <DeleteAccountDialog account={leaving} twoFactor={identity.two_factor} onClose={done} />
      )}
    </Card>
  );
}

function Row({ name, about, children }: { name: string; about: string; children: ReactNode }) {
  return (
    <li className="flex items-center justify-between gap-3 border-b border-line px-4 py-2.5 last:border-b-0 sm:px-5">
      <span className="min-w-0">
        <span className="block truncate font-medium">{name}</span>
        <span className="text-xs text-ink-soft">{about}</span>
      </span>
      <span className="flex shrink-0 gap-2">{children}</span>
    </li>
  );
}
