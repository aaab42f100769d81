/** Connections that arrive in a burst while the gateway's event loop is busy. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { hangSignal } from "@tollgate/stage/wait.ts";

const SERVER = fileURLToPath(new URL("testing-blocked-server.ts", import.meta.url));
const CONNECTIONS = 1_500;
/** Linux limits every queue of connections to this number. */
const SYSTEM_MAX = process.platform === "linux" ? Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8")) : 0;
const skip = SYSTEM_MAX <= CONNECTIONS && `the system queues only ${SYSTEM_MAX} connections`;

test("answers all of 1,500 connections that arrive while its event loop is blocked", { skip }, async (t) => {
  const server = spawn(process.execPath, [SERVER], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => server.kill("SIGKILL"));
  const signal = hangSignal();
  const [port] = await once(server.stdout, "data", { signal });

  const sockets = Array.from({ length: CONNECTIONS }, () => connect(Number(port), "127.0.0.1"));
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  await Promise.all(sockets.map((socket) => once(socket, "connect", { signal })));

  server.stdin.end("\n");
  const answers = sockets.map((socket) => {
    socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    return text(socket);
  });
  const statuses = (await Promise.all(answers)).map((answer) => answer.split("\r\n", 1)[0]);
  assert.deepEqual([...new Set(statuses)], ["HTTP/1.1 200 OK"]);
});
