/** Test helper: a clock for the agent that only moves when the test advances it. */
import { BaseManualClock } from "@tollgate/protocol/testing/manual-clock.ts";

const START_MS = 1_000_000;

export class ManualClock extends BaseManualClock {
  constructor() {
    super(START_MS);
  }
}
