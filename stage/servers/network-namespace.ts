/**
 * Provides a separate network for processes of a chaos run: a namespace, connected by a pair of virtual interfaces,
 * with a cable that can be cut. After a cut the other side receives nothing, not even a close. Needs root and `ip`. The
 * namespace ends with the test.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";

export interface Network {
  /** The address at which processes inside the namespace reach servers outside. */
  readonly near: string;
  /** The address at which processes inside the namespace are reached. */
  readonly far: string;
  /** Returns the command line that runs `command` inside the namespace. */
  inside(command: string[]): string[];
  cut(): void;
  heal(): void;
  isCut(): boolean;
  close(): Promise<void>;
}

/**
 * A hardware address that does not exist. A cut makes both ends send to it. Taking an interface down would also remove
 * its route: the sender would get an error at once, or its packets would take the default route.
 */
const NOBODY = "02:00:00:00:00:01";
const KEEPER = 'read -r _; ip netns del "$1"; ip link del "$2" 2>/dev/null';
let made = 0;

/** Returns why no network can be created here; undefined if it is possible. Creates one and removes it to find out. */
export async function explainMissingNetwork(): Promise<string | undefined> {
  try {
    await (await openNetwork()).close();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

export async function openNetwork(): Promise<Network> {
  if (process.platform !== "linux" || process.getuid?.() !== 0) throw new Error("needs root for a network namespace");
  // Names and addresses derive from this process's ID, so that two runs do not collide. Names have at most 15
  // characters.
  const [run, nth] = [process.pid % 60_000, made++];
  const [space, near, far] = [`tgchaos${run}x${nth}`, `tgcn${run}x${nth}`, `tgcf${run}x${nth}`];
  const net = `10.${150 + (run % 50)}.${(run >> 6) % 250}`;
  const [nearIp, farIp] = [`${net}.${4 * nth + 1}`, `${net}.${4 * nth + 2}`];
  const keeper = spawn("/bin/sh", ["-c", KEEPER, "network", space, near], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  keeper.unref();
  (keeper.stdin as Socket).unref();
  const close = async (): Promise<void> => {
    const ended = once(keeper, "exit");
    keeper.ref();
    keeper.stdin.end();
    await ended;
  };
  let cut = false;
  try {
    ip("netns", "add", space);
    ip("link", "add", near, "type", "veth", "peer", "name", far);
    ip("link", "set", far, "netns", space);
    ip("addr", "add", `${nearIp}/30`, "dev", near);
    ip("link", "set", near, "up");
    ip("netns", "exec", space, "ip", "addr", "add", `${farIp}/30`, "dev", far);
    ip("netns", "exec", space, "ip", "link", "set", far, "up");
    // The loopback interface inside the namespace.
    ip("netns", "exec", space, "ip", "link", "set", "lo", "up");
  } catch (error) {
    await close();
    throw new Error(`no network namespace can be made here: ${(error as Error).message.split("\n")[0]}`);
  }
  return {
    near: nearIp,
    far: farIp,
    inside: (command) => ["ip", "netns", "exec", space, ...command],
    cut() {
      ip("neigh", "replace", farIp, "lladdr", NOBODY, "dev", near, "nud", "permanent");
      ip("netns", "exec", space, "ip", "neigh", "replace", nearIp, "lladdr", NOBODY, "dev", far, "nud", "permanent");
      cut = true;
    },
    heal() {
      ip("neigh", "del", farIp, "dev", near);
      ip("netns", "exec", space, "ip", "neigh", "del", nearIp, "dev", far);
      cut = false;
    },
    isCut: () => cut,
    close,
  };
}

function ip(...args: string[]): void {
  const { status, error, stderr } = spawnSync("ip", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(error?.message ?? stderr.trim());
}
