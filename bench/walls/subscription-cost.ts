/**
 * Measures what a node costs the NATS servers that it is not connected to: each node subscribes to its own subject, and
 * every server of a cluster stores every subscription. Three servers form a full mesh; all nodes connect to the first.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { nodeSubject, STATE_REQUEST_SUBJECT } from "@tollgate/protocol/nats-subjects.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { cpuSpentUs, readCpuTime, readResidentMemoryMib } from "../gateway/process-resource-usage.ts";

const SERVERS = 3;
const AT_ONCE = 100;
const SETTLE_MS = 2_000;

interface Server {
  pid: number;
  port: number;
  monitor: number;
  stop: () => void;
}

export async function measureSubscriptionCost(binary: string, nodeCounts: number[]): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), "tollgate-walls-"));
  const servers = await startCluster(binary, place);
  const sockets: Socket[] = [];
  try {
    console.log(
      "\n| nodes | subscriptions on each server | first server, MiB | each other, MiB | µs of each other a node that joins | … that leaves |",
    );
    console.log("|---|---|---|---|---|---|");
    const [first, other] = servers as [Server, Server];
    // The number of the servers' own subscriptions, before any node connects.
    const base = await subscriptions(other);
    for (const count of nodeCounts) {
      const before = look(other);
      const joined = count - sockets.length;
      while (sockets.length < count) {
        const from = sockets.length;
        const size = Math.min(AT_ONCE, count - from);
        sockets.push(...(await Promise.all(Array.from({ length: size }, (_, i) => connectNode(first.port, from + i)))));
      }
      await eventually("the other server knows all of them", async () => (await subscriptions(other)) >= base + count);
      const known = await subscriptions(other);
      await sleep(SETTLE_MS);
      const after = look(other);
      const leaving = sockets.splice(count - Math.min(joined, 1_000));
      for (const socket of leaving) socket.destroy();
      await eventually(
        "the other server forgot them",
        async () => (await subscriptions(other)) <= base + sockets.length + 1,
      );
      await sleep(SETTLE_MS);
      const left = look(other);
      const cells = [
        count,
        known,
        readResidentMemoryMib({ pid: first.pid, withChildren: false }).toFixed(0),
        readResidentMemoryMib({ pid: other.pid, withChildren: false }).toFixed(0),
        (cpuSpentUs(before, after) / joined).toFixed(0),
        (cpuSpentUs(after, left) / leaving.length).toFixed(0),
      ];
      console.log(`| ${cells.join(" | ")} |`);
    }
  } finally {
    for (const socket of sockets) socket.destroy();
    for (const server of servers) server.stop();
    await rm(place, { recursive: true, force: true });
  }
}

const look = ({ pid }: Server) => readCpuTime({ pid, withChildren: false });

async function startCluster(binary: string, place: string): Promise<Server[]> {
  const ports = await Promise.all(Array.from({ length: SERVERS * 3 }, () => findFreePort()));
  const routes = Array.from({ length: SERVERS }, (_, i) => `nats://127.0.0.1:${ports[i * 3 + 1]}`).join(",");
  return await Promise.all(
    Array.from({ length: SERVERS }, async (_, i) => {
      const [port, cluster, monitor] = ports.slice(i * 3, i * 3 + 3) as [number, number, number];
      const flags = ["-a", "127.0.0.1", "-p", String(port), "-m", String(monitor), "-n", `server-${i}`];
      const clustered = ["--cluster_name", "walls", "--cluster", `nats://127.0.0.1:${cluster}`, "--routes", routes];
      const server = spawn(binary, [...flags, ...clustered], { cwd: place, stdio: "ignore" });
      const started = { pid: server.pid as number, port, monitor, stop: () => void server.kill() };
      await eventually("a server tells of itself", () =>
        routesOf(started).then(
          (count) => count >= SERVERS - 1,
          () => false,
        ),
      );
      return started;
    }),
  );
}

/** Opens a node's connection, with the subscriptions of a real node. */
function connectNode(port: number, nth: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const id = `node_${String(nth).padStart(26, "0")}`;
    socket.on("error", reject);
    socket.on("data", (data) => {
      const text = data.toString("latin1");
      if (text.includes("PING")) socket.write("PONG\r\n");
      if (text.includes("PONG")) resolve(socket);
    });
    socket.write(`CONNECT {"verbose":false}\r\nSUB ${nodeSubject(id)} 1\r\nSUB ${STATE_REQUEST_SUBJECT} 2\r\nPING\r\n`);
  });
}

interface Routes {
  num_routes?: number;
  routes?: { subscriptions?: number }[];
}

const routez = async ({ monitor }: Server): Promise<Routes> =>
  (await (await fetch(`http://127.0.0.1:${monitor}/routez`)).json()) as Routes;

const routesOf = async (server: Server): Promise<number> => (await routez(server)).num_routes ?? 0;

/** Returns how many subscriptions of the other servers' clients the server stores. */
const subscriptions = async (server: Server): Promise<number> =>
  ((await routez(server)).routes ?? []).reduce((sum, { subscriptions: of = 0 }) => sum + of, 0);
