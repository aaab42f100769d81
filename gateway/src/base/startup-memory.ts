/**
 * Frees memory that only the start needed, such as module sources and parsed tables. V8 alone would free it only after
 * the heap has doubled, which never happens in an idle gateway.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Blocks the event loop for some tens of milliseconds. */
export function freeStartupMemory(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
}
