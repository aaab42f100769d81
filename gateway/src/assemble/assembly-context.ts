/** The context for opening a part of the gateway. It also collects the functions that close the parts. */
import type { Clock } from "../base/clock.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";

export type CloseFunction = () => Promise<void> | void;

export interface AssemblyContext {
  clock: Clock;
  random: Random;
  newId: NewId;
  /** The gateway's ID, unique among the gateways of its database. */
  gatewayId: string;
  log: Log;
  /** Registers a function that closes a part. These run in reverse order. */
  onClose: (stop: CloseFunction) => void;
}
