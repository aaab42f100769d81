/**
 * Gives the memory back that a start took and no one needs any more: modules as they were read, tables as they were parsed. V8 would
 * do it when the heap has grown by as much again, which in a gateway at rest is never.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Takes some tens of milliseconds, in which nothing else is done. */
export function tidyUp(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
}
