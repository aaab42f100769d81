/** For tests: a TCP proxy to a server. The test can cut its connections. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";

export interface BreakableConnection {
  url: string;
  /** Closes the proxy's connections and accepts new ones at once. */
  cut: () => void;
  /** Closes the proxy's connections, and new ones until `plug` is called. */
  unplug: () => void;
  plug: () => void;
}

export async function openBreakableConnection(
  t: Pick<TestContext, "after">,
  port: number,
): Promise<BreakableConnection> {
  const ends = new Set<Socket>();
  const cut = (): void => {
    for (const end of ends) end.destroy();
  };
  let plugged = true;
  const cable = createServer((near) => {
    if (!plugged) return void near.destroy();
    const far = connect({ host: "127.0.0.1", port });
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(end);
      end.on("error", () => other.destroy());
      end.on("close", () => ends.delete(end) && other.destroy());
      end.pipe(other);
    }
  }).listen(0, "127.0.0.1");
  await once(cable, "listening");
  t.after(() => {
    cable.close();
    cut();
  });
  return {
    url: `nats://127.0.0.1:${(cable.address() as AddressInfo).port}`,
    cut,
    unplug: () => {
      plugged = false;
      cut();
    },
    plug: () => {
      plugged = true;
    },
  };
}
