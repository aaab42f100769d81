/** Pauses or resumes a node. Requests in flight finish first. */

import type { Node } from "../../../api/answer-types.ts";
import { usePauseOrResumeNode } from "../../../data/host-nodes-and-tokens.ts";
import { usePermissions } from "../../../data/signed-in-session.ts";
import { Button } from "../../../ui/button.tsx";
import { Pause, Play } from "../../../ui/icons.tsx";
import { toast, toastError } from "../../../ui/toast.tsx";

export function PauseButton({ node: { id, name, state } }: { node: Node }) {
  const move = usePauseOrResumeNode(id);
  const may = usePermissions("host");
  const to = (verb: "pause" | "resume", said: string): void =>
    move.mutate(verb, { onSuccess: () => toast(said), onError: toastError });
  if (!may("work")) return null;
  if (state === "online" || state === "ready") {
    return (
      <Button busy={move.isPending} onClick={() => to("pause", `${name} is paused. Running requests complete.`)}>
        {!move.isPending && <Pause aria-hidden className="size-4" />}
        Pause
      </Button>
    );
  }
  if (state !== "paused") return null;
  return (
    <Button look="primary" busy={move.isPending} onClick={() => to("resume", `${name} accepts requests again.`)}>
      {!move.isPending && <Play aria-hidden className="size-4" />}
      Resume
    </Button>
  );
}
