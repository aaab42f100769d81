/** A button that turns automatic updates of the list on and off. */
import { useIsStreamOpen } from "../../data/live-event-stream.ts";
import { Button } from "../../ui/button.tsx";
import { Pause, Play } from "../../ui/icons.tsx";
import { joinClasses } from "../../ui/join-classes.ts";
import type { RequestsView } from "./requests-search.ts";

interface Props {
  view: RequestsView;
  isPaused: boolean;
  onPause: (pause: boolean) => void;
}

export function LiveButton({ view, isPaused, onPause }: Props) {
  const open = useIsStreamOpen();
  // New requests appear at the top only if the list is in the default order and its time span has not ended.
  const tails = view.sort === undefined && view.to === undefined;
  const Icon = isPaused ? Play : Pause;
  return (
    <Button
      aria-pressed={!isPaused}
      aria-label="Live"
      disabled={!tails}
      title={
        isPaused
          ? "The list is paused. Press this button to show new requests as they end."
          : "New requests appear as they end. Press this button to pause the list."
      }
      className="w-28"
      onClick={() => onPause(!isPaused)}
    >
      <span
        aria-hidden
        className={joinClasses("size-2 rounded-full", tails && open && !isPaused ? "bg-good" : "bg-line-strong")}
      />
      {isPaused ? "Paused" : "Live"}
      <Icon aria-hidden className="size-4" />
    </Button>
  );
}
