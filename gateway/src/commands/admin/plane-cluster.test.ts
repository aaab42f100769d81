/**
 * Tests a cluster of three real NATS servers with the generated files. Each server runs in a directory that contains
 * only its own files.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { type ConnectionOptions, connect as connectTls, getCACertificates, setDefaultCACertificates } from "node:tls";
import { nodeStateSubject } from "@tollgate/protocol/nats-subjects.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { runCommand } from "@tollgate/terminal/run-command-line.ts";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import { systemClock } from "../../base/clock.ts";
import { createLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { parseConfig } from "../../config.ts";
import { createAuthority } from "../../plane/credentials/x509.ts";
import { connectClient } from "../../plane/hub/testing-hub.ts";
import { openNatsPlane } from "../../plane/nats/nats-plane.ts";
import { type NatsProcess, runNatsServer, skipWithoutNats } from "../../plane/nats/testing-nats-server.ts";
import type { DispatchPlane } from "../../plane/plane.ts";
import { TOLLGATE_COMMANDS } from "../tollgate.ts";
import { parseServers } from "./plane-cluster.ts";

const planeInit = (args: string[], terminal = new FakeTerminal()): Promise<number> =>
  runCommand(TOLLGATE_COMMANDS, ["admin", "plane", "init", ...args], { terminal, env: {} });

const NAMES = ["a", "b", "c"] as const;
const REFUSED = /Authorization Violation/;
const x = Buffer.from("x");

interface Report {
  url: string;
  files: string[];
  secret_files: string[];
  servers: { name: string; url: string; route: string; files: string[] }[];
}

async function init(args: string[]): Promise<Report> {
  const terminal = new FakeTerminal();
  assert.equal(await planeInit([...args, "--json"], terminal), 0);
  assert.doesNotMatch(terminal.text, /\bS[AOU][A-Z2-7]{56}\b|PRIVATE KEY/, "no secret is printed");
  return terminal.json<Report>();
}

describe("plane init for several servers", () => {
  test("writes one file per server; only the owner can read a file that contains secrets", async (t) => {
    const parent = await mkdtemp(join(tmpdir(), "tollgate-init-"));
    t.after(() => rm(parent, { recursive: true, force: true }));
    const place = join(parent, "plane");
    const servers = ["--server", "a=plane-a.example", "--server", "b=10.0.0.2:4333@192.168.0.2,c=[2001:db8::3]"];
    const report = await init(["--dir", place, ...servers]);
    assert.equal(report.url, "tls://plane-a.example:4222,tls://10.0.0.2:4333,tls://[2001:db8::3]:4222");
    assert.deepEqual(
      report.servers.map(({ route }) => route),
      ["plane-a.example:6222", "192.168.0.2:6222", "[2001:db8::3]:6222"],
    );
    assert.deepEqual((await readdir(place)).sort(), report.files.toSorted());
    for (const name of report.files) {
      const secret = report.secret_files.includes(name);
      assert.equal((await stat(join(place, name))).mode & 0o777, secret ? 0o600 : 0o644, name);
      const text = await readFile(join(place, name), "utf8");
      assert.equal(/PRIVATE KEY|password|\bS[AOU][A-Z2-7]{56}\b/.test(text), secret, name);
    }
    const conf = await readFile(join(place, "nats-b.conf"), "utf8");
    assert.match(conf, /^server_name: "b"\nlisten: "0\.0\.0\.0:4333"$/m);
    assert.match(conf, /@plane-a\.example:6222"\n.*@\[2001:db8::3\]:6222"\n {2}\]/);
    assert.doesNotMatch(conf, /@192\.168\.0\.2/, "no route to itself");
    assert.match(await readFile(join(place, "nats-c.conf"), "utf8"), /^listen: "\[::\]:4222"$/m);
    const env = await readFile(join(place, "gateway.env"), "utf8");
    assert.match(env, new RegExp(`^NODE_EXTRA_CA_CERTS=${join(place, "ca.pem")}$`, "m"));
    await assert.rejects(planeInit(["--dir", place, ...servers]), /operator\.seed exists already/);
  });

  test("names an invalid flag", () => {
    for (const text of [
      "a",
      "a=",
      "=h",
      "a=h:0",
      "a=h:70000",
      "a b=h",
      "a=h/x",
      "a=h@",
      "a=1.2.3",
      "a=[::x]",
      "../a=h",
    ]) {
      assert.throws(() => parseServers(`${text},z=host`), /--servers must be NAME=HOST/, text);
    }
    assert.throws(() => parseServers("a=one"), /at least two/);
    assert.throws(() => parseServers("a=one,A=two"), /a is named twice/);
    assert.throws(() => parseServers("a=one,b=ONE@two"), /one:4222 is named twice/);
    assert.throws(() => parseServers("a=one:6222,b=two"), /one:6222 is named twice/);
  });

  test("refuses flags for one server in combination with --servers", async () => {
    const both = ["--url", "tls://x:1", "--servers", "a=x,b=y"];
    await assert.rejects(planeInit(["--dir", "/nowhere/x", ...both]), /--url .* and --servers .* cannot be combined/);
  });
});

describe("a cluster configured by plane init", { skip: skipWithoutNats }, () => {
  let place: string;
  let report: Report;
  let env: Record<string, string>;
  const running = new Map<string, NatsProcess>();
  const trusted = getCACertificates();

  before(async () => {
    place = await mkdtemp(join(tmpdir(), "tollgate-cluster-"));
    const at = async (): Promise<string> => `127.0.0.1:${await findFreePort()}`;
    const servers = await Promise.all(NAMES.map(async (name) => `${name}=${await at()}@${await at()}`));
    report = await init(["--dir", join(place, "plane"), "--servers", servers.join(",")]);
    for (const server of report.servers) running.set(server.name, await start(server));
    const lines = (await readFile(join(place, "plane", "gateway.env"), "utf8")).trimEnd().split("\n");
    env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
    // Trusts the cluster's certificate authority in this process, as NODE_EXTRA_CA_CERTS does at start.
    setDefaultCACertificates([...trusted, await readFile(env.NODE_EXTRA_CA_CERTS as string, "utf8")]);
    for (const name of NAMES) await eventually(`${name} found the others`, async () => (await routesOf(name)) >= 2);
  });
  after(async () => {
    setDefaultCACertificates(trusted);
    for (const server of running.values()) await server.kill();
    await rm(place, { recursive: true, force: true });
  });

  const start = async ({ name, url, files }: Report["servers"][number]): Promise<NatsProcess> => {
    const own = join(place, name);
    await mkdir(own);
    for (const file of files) await copyFile(join(place, "plane", file), join(own, file));
    return await runNatsServer(own, Number(new URL(url).port), `nats-${name}.conf`);
  };
  const log = (name: string): Promise<string> => (running.get(name) as NatsProcess).log();
  const routesOf = async (name: string): Promise<number> => {
    const made = (await log(name)).matchAll(/Route connection created/g);
    return [...made].length;
  };
  const portOf = (address: string): number => Number(address.replace(/.*:/, ""));
  const serverOf = (name: string) => report.servers.find((server) => server.name === name) as Report["servers"][number];

  let gateways = 0;
  const openPlane = async (t: TestContext, url: string): Promise<DispatchPlane> => {
    const { plane } = parseConfig(env);
    assert.ok(plane.nats !== undefined && plane.seed !== undefined);
    const { operatorSeed, system } = plane.nats;
    const gatewayId = `gw${++gateways}`;
    const world = { clock: systemClock, random: systemRandom(), log: createLog("silent") };
    const opened = await openNatsPlane({ url, gatewayId, accountSeed: plane.seed, operatorSeed, system, ...world });
    t.after(() => opened.close());
    return opened;
  };

  test("delivers messages between nodes and gateways on all servers, and revocations to all three servers", async (t) => {
    const plane = await openPlane(t, serverOf("a").url);
    const heard = new Set<string>();
    plane.subscribe("tg.s.*", (subject) => heard.add(subject));
    for (const { name, url } of report.servers) {
      const minted = { ...(await plane.mint(`n-${name}`)), url };
      const node = await connectClient(t, minted, { tls: {} });
      await eventually(`a node on ${name} is heard`, () => {
        node.publish(nodeStateSubject(`n-${name}`), x);
        return heard.has(nodeStateSubject(`n-${name}`));
      });
      await plane.revoke(`n-${name}`);
      assert.match(String(await node.closed()), /Authentication Revoked/);
      for (const other of report.servers) {
        await eventually(`${other.name} refuses it`, () =>
          connectClient(t, { ...minted, url: other.url }, { tls: {} }).then(
            (client) => client.close().then(() => false),
            (error) => REFUSED.test(String(error)),
          ),
        );
      }
    }
  });

  test("acts as one plane at all its addresses, and survives the loss of a server", async (t) => {
    const plane = await openPlane(t, env.NATS_URL as string);
    assert.equal((await plane.mint("n1")).url, env.NATS_URL);
    await running.get("c")?.kill();
    const other = await openPlane(t, env.NATS_URL as string);
    await other.mint("n1");
    await running.get("c")?.start();
  });

  test("requires clients to use TLS", async () => {
    for (const { url } of report.servers) {
      const socket = connect({ host: "127.0.0.1", port: portOf(url) });
      const [greeting] = await once(socket, "data");
      assert.match(String(greeting), /"tls_required":true/);
      const secure = connectTls({ socket, servername: "localhost", ca: createAuthority({ name: "x", nowMs: 1 }).cert });
      const [error] = await once(secure, "error");
      assert.match(String(error), /certificate/, "who does not trust the authority does not talk to it");
    }
  });

  test("requires TLS certificates from both sides of a connection between servers", async () => {
    const file = (name: string): Promise<string> => readFile(join(place, "plane", name), "utf8");
    const own = { cert: await file("nats-b-cert.pem"), key: await file("nats-b-key.pem") };
    const foreign = createAuthority({ name: "tollgate plane", nowMs: Date.now() });
    /** Returns the first data that the server sends; empty if the server closes the connection. */
    const heard = async (port: number, options: ConnectionOptions): Promise<string> => {
      const socket = connectTls({ host: "127.0.0.1", port, servername: "localhost", ...options });
      const said = await new Promise<string>((resolve) => {
        socket.on("data", (part) => resolve(String(part)));
        socket.on("error", () => resolve("")).on("close", () => resolve(""));
      });
      socket.destroy();
      return said;
    };
    const ca = await file("ca.pem");
    for (const { route } of report.servers) {
      const port = portOf(route);
      assert.match(await heard(port, { ca, ...own }), /^INFO \{/);
      assert.equal(await heard(port, { ca }), "");
      assert.equal(await heard(port, { ca, ...foreign.issue("b", ["localhost"]) }), "");
      assert.equal(await heard(port, { ca: foreign.cert, ...own }), "");
    }
  });

  /**
   * Starts another server that has the public configuration (operator and accounts) and connects to the cluster, whose
   * logs then contain `words`. Returns the messages received at server `a`, and a function with which a node on the new
   * server publishes.
   */
  const dialIn = async (t: TestContext, name: string, change: (conf: string) => string, words: RegExp) => {
    const own = join(place, name);
    await mkdir(own);
    for (const file of serverOf("c").files) await copyFile(join(place, "plane", file), join(own, file));
    const impostor = createAuthority({ name: "tollgate plane", nowMs: Date.now() });
    const { cert, key } = impostor.issue("c", ["127.0.0.1", "localhost"]);
    await writeFile(join(own, "own-cert.pem"), cert);
    await writeFile(join(own, "own-key.pem"), key);
    const port = await findFreePort();
    const conf = (await readFile(join(own, "nats-c.conf"), "utf8"))
      .replace(/^server_name: .*$/m, `server_name: "${name}"`)
      .replace(/^listen: .*$/m, `listen: "127.0.0.1:${port}"`)
      .replace(/^ {2}listen: .*$/m, `  listen: "127.0.0.1:${await findFreePort()}"`);
    await writeFile(join(own, "nats-server.conf"), change(conf));
    const plane = await openPlane(t, serverOf("a").url);
    const heard: string[] = [];
    plane.subscribe(nodeStateSubject(name), (subject) => heard.push(subject));
    /** Returns a function that waits until the logs of servers `a` and `b` contain a new line with `words`. */
    const areDialled = async (): Promise<() => Promise<void>> => {
      const lengths = await Promise.all(NAMES.map(async (server) => (await log(server)).length));
      return async () => {
        for (const [i, dialled] of (["a", "b"] as const).entries())
          await eventually(`${dialled} says ${words}`, async () => words.test((await log(dialled)).slice(lengths[i])));
      };
    };
    const firstDialled = await areDialled();
    const server = await runNatsServer(own, port);
    t.after(() => server.kill());
    await firstDialled();
    const tls = { ca: impostor.cert + (await readFile(join(place, "plane", "ca.pem"), "utf8")) };
    const node = await connectClient(t, { ...(await plane.mint(name)), url: `tls://127.0.0.1:${port}` }, { tls });
    const publish = async (): Promise<void> => {
      node.publish(nodeStateSubject(name), x);
      await node.flush();
    };
    return { heard, publish, plane, areDialled };
  };
  /**
   * Asserts that the cluster refuses the new server twice, and that the messages of a node on that server never arrive.
   * Waits until a later message of a node on server `b` arrives: by then the earlier messages would have arrived too.
   */
  const assertRefused = async (t: TestContext, name: string, change: (conf: string) => string, words: RegExp) => {
    const { heard, publish, plane, areDialled } = await dialIn(t, name, change, words);
    await publish();
    await (await areDialled())();
    await publish();
    const fence = `${name}-fence`;
    let isPast = false;
    plane.subscribe(nodeStateSubject(fence), () => {
      isPast = true;
    });
    const node = await connectClient(t, { ...(await plane.mint(fence)), url: serverOf("b").url }, { tls: {} });
    await eventually("a node on b is heard", () => {
      node.publish(nodeStateSubject(fence), x);
      return isPast;
    });
    assert.deepEqual(heard, []);
  };
  const ownCertificate = (conf: string): string =>
    conf.replaceAll("./nats-c-cert.pem", "own-cert.pem").replaceAll("./nats-c-key.pem", "own-key.pem");
  const otherPassword = (conf: string): string => conf.replaceAll(/route:[\w-]+@/g, "route:guessed@");
  const withoutTls = (conf: string): string => conf.replace(/^ {2}tls \{[^}]*\}/m, "");

  test("accepts a server with the cluster's certificate and password", async (t) => {
    const { heard, publish } = await dialIn(t, "c2", (conf) => conf, /Route connection created/);
    await eventually("a node on it is heard", async () => {
      await publish();
      return heard.length > 0;
    });
  });
  test("refuses a server with a self-made certificate", async (t) => {
    await assertRefused(t, "stranger-1", ownCertificate, /TLS route handshake error/);
  });
  test("refuses a server without the password", async (t) => {
    await assertRefused(t, "stranger-2", otherPassword, /authentication error|Authorization Violation/i);
  });
  test("refuses a server without TLS", async (t) => {
    await assertRefused(t, "stranger-3", withoutTls, /TLS route handshake error/);
  });
});
