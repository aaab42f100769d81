/** For tests of the agent: a clock that stands still until a test moves it. */
import { HandMovedClock } from "@tollgate/protocol/testing/manual-clock.ts";

const START_MS = 1_000_000;

export class ManualClock extends HandMovedClock {
  constructor() {
    super(START_MS);
  }
}
