/** The history of changes to a team, newest first. */
import { useState } from "react";
import type { TeamEvent } from "../../api/answer-types.ts";
import { Button } from "../../ui/button.tsx";
import { TimeText } from "../../ui/time-text.tsx";
import { describeTeamEvent } from "./team-event-sentences.ts";

const FEW = 6;

export function TeamChanges({ events }: { events: TeamEvent[] }) {
  const [all, setAll] = useState(false);
  if (events.length === 0) return <p className="px-4 pb-4 text-ink-soft sm:px-5">No changes yet.</p>;
  return (
    <>
      <ul className="border-t border-line">
        {events.slice(0, all ? events.length : FEW).map((event, place) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: they have no name, and are only ever read whole
            key={place}
            className="border-b border-line px-4 py-2.5 wrap-anywhere last:border-b-0 sm:px-5"
          >
            {describeTeamEvent(event)}{" "}
            <span className="text-xs whitespace-nowrap text-ink-soft">
              <TimeText at={event.at} as="ago" />
            </span>
          </li>
        ))}
      </ul>
      {!all && events.length > FEW && (
        <div className="border-t border-line px-4 py-2.5 sm:px-5">
          <Button size="small" onClick={() => setAll(true)}>
            Show all {events.length}
          </Button>
        </div>
      )}
    </>
  );
}
