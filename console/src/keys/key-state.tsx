/** Shows whether a key works, when it expires, and its allowed models. */
import type { ApiKey } from "../api/answer-types.ts";
import { Badge } from "../ui/badge.tsx";
import { TimeText } from "../ui/time-text.tsx";

type State = Pick<ApiKey, "revoked_at" | "expires_at" | "old_secret_until">;

const isExpired = ({ expires_at }: Pick<ApiKey, "expires_at">): boolean =>
  expires_at !== null && expires_at * 1000 <= Date.now();

/** Renders nothing for a key that works without restrictions. */
export function KeyBadges({ of }: { of: State }) {
  if (of.revoked_at !== null) return <Badge>revoked</Badge>;
  return (
    <>
      {isExpired(of) && <Badge tone="bad">expired</Badge>}
      {of.old_secret_until !== null && <Badge tone="warn">old secret active</Badge>}
    </>
  );
}

export const KeyExpiry = ({ at }: { at: number | null }) =>
  at === null ? <span className="text-ink-soft">Never</span> : <TimeText at={at} as="day" />;

/** "All", or the first model and the number of others. */
export function AllowedModels({ of }: { of: string[] | null }) {
  if (of === null) return <span className="text-ink-soft">All</span>;
  const [first, ...more] = of;
  return (
    <span title={of.join(", ")} className="whitespace-nowrap">
      {first}
      {more.length > 0 && <span className="text-ink-soft"> +{more.length}</span>}
    </span>
  );
}
