/**
 * Ensures that nothing in the simulated world reads the real clock, uses real randomness or sets a real timer. During a
 * run such a call throws an error, and the run fails.
 */
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers";

class OutsideWorld extends Error {
  override name = "OutsideWorld";
}

/** Records every forbidden call, also one whose error was caught. */
interface Guard {
  readonly attempts: string[];
  lift(): void;
}

export function forbidRealTimeAndRandomness(): Guard {
  const attempts: string[] = [];
  const restore: (() => void)[] = [];
  const forbid = (owner: object, name: string, path: string): void => {
    const before = Object.getOwnPropertyDescriptor(owner, name);
    Object.defineProperty(owner, name, {
      configurable: true,
      writable: true,
      value: () => {
        attempts.push(path);
        throw new OutsideWorld(`${path} was called inside the simulated world`);
      },
    });
    restore.push(() => {
      if (before === undefined) Reflect.deleteProperty(owner, name);
      else Object.defineProperty(owner, name, before);
    });
  };
  forbid(Date, "now", "Date.now");
  forbid(performance, "now", "performance.now");
  forbid(Math, "random", "Math.random");
  for (const name of ["setTimeout", "setInterval", "setImmediate"]) {
    forbid(globalThis, name, name);
    forbid(timers, name, `timers.${name}`);
  }
  for (const name of ["randomUUID", "getRandomValues"]) forbid(globalThis.crypto, name, `crypto.${name}`);
  for (const name of ["randomUUID", "randomBytes", "randomFillSync", "randomInt"])
    forbid(crypto, name, `node:crypto ${name}`);
  const RealDate = globalThis.Date;
  globalThis.Date = new Proxy(RealDate, {
    construct(target, args, newTarget) {
      if (args.length > 0) return Reflect.construct(target, args, newTarget) as object;
      attempts.push("new Date()");
      throw new OutsideWorld("new Date() was called inside the simulated world");
    },
  });
  restore.push(() => {
    globalThis.Date = RealDate;
  });
  syncBuiltinESMExports();
  return {
    attempts,
    lift() {
      for (const undo of restore.reverse()) undo();
      syncBuiltinESMExports();
    },
  };
}
