/**
 * A separate network for processes of a chaos run: a namespace, connected by a pair of virtual interfaces, with a cable that can be cut.
 * The other side then receives nothing, not even a close. Needs root and `ip`. The namespace ends with the harness.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";

export interface Network {
  /** Where processes in it reach what listens on all addresses, or on this one. */
  readonly near: string;
  /** Where processes in it are reached. */
  readonly far: string;
  /** The command that runs `command` in it. */
  inside(command: string[]): string[];
  cut(): void;
  heal(): void;
  isCut(): boolean;
  close(): Promise<void>;
}

/**
 * Both ends send to a machine that does not exist. Taking an interface down would remove its route as well: then the sender gets an error
 * at once, or its packets take the default route.
 */
const NOBODY = "02:00:00:00:00:01";
const KEEPER = 'read -r _; ip netns del "$1"; ip link del "$2" 2>/dev/null';
let made = 0;

/** Why there can be none here; undefined where there can. Made and taken away again. */
export async function whyNoNetwork(): Promise<string | undefined> {
  try {
    await (await openNetwork()).close();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

export async function openNetwork(): Promise<Network> {
  if (process.platform !== "linux" || process.getuid?.() !== 0) throw new Error("needs root for a network namespace");
  // Names and addresses of this run's own, so that two runs do not meet. A name has 15 letters at most.
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
    // The loopback interface of the process.
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
