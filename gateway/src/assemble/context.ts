/** The context for opening a part of the gateway, which also records how to close it. */
import type { Clock } from "../base/clock.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";

export type Stop = () => Promise<void> | void;

export interface Context {
  clock: Clock;
  random: Random;
  newId: NewId;
  /** The gateway's name among those on the same database. */
  gatewayId: string;
  log: Log;
  /** Called in the order of opening; closing runs the other way. */
  onClose: (stop: Stop) => void;
}
