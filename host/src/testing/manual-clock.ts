/** Test helper: a clock for the agent that the test moves. */
import { HandMovedClock } from "@tollgate/protocol/testing/manual-clock.ts";

const START_MS = 1_000_000;

export class ManualClock extends HandMovedClock {
  constructor() {
    super(START_MS);
  }
}
