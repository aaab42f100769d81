/** Repeats an action on any running gateway until one gateway has carried it out. */
import type { RunningGateway } from "../actors/gateway.ts";
import type { WorldParticipants } from "./world-participants.ts";

const AGAIN_MS = 1_000;

interface Errand<T> {
  /** The index of the gateway that is asked first. */
  first: number;
  act: (running: RunningGateway) => Promise<T>;
  done: (result: T) => void;
}

export function retryUntilDone<T>(stage: WorldParticipants, { first, act, done }: Errand<T>): void {
  stage.errandsUnderWay += 1;
  const again = (): void => {
    stage.world.scheduler.after(AGAIN_MS, attempt);
  };
  const attempt = (): void => {
    const running = stage.gatewayFrom(first);
    if (running === undefined) {
      again();
      return;
    }
    let isOver = false;
    running.life.onEnd(() => {
      if (!isOver) again();
      isOver = true;
    });
    act(running).then(
      (result) => {
        if (isOver) return;
        isOver = true;
        stage.errandsUnderWay -= 1;
        done(result);
      },
      () => {
        if (!isOver) again();
        isOver = true;
      },
    );
  };
  attempt();
}
