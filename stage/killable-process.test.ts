import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { findFreePort } from "./killable-process.ts";

const COUNT = 20;
const SAME = 7_000;
/** A program that prints its reserved ports, and exits when its standard input ends. */
const ASKER = `
  import { findFreePort } from ${JSON.stringify(fileURLToPath(new URL("killable-process.ts", import.meta.url)))};
  const ports = [];
  for (let i = 0; i < ${COUNT}; i++) ports.push(await findFreePort(${SAME}));
  console.log(JSON.stringify(ports));
  process.stdin.resume();
`;

test("findFreePort() returns ports outside the range that the system assigns, and different ones in each process", async (t) => {
  const others = [1, 2].map(() => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", ASKER], { stdio: ["pipe", "pipe", "inherit"] });
    t.after(() => child.kill());
    const ended = once(child, "exit").then(([code]): never => {
      throw new Error(`the program ended with ${code} before it printed its ports`);
    });
    const printed = once(child.stdout, "data").then(([line]) => JSON.parse(String(line)) as number[]);
    return Promise.race([printed, ended]);
  });
  const mine = Array.from({ length: COUNT }, () => findFreePort(SAME));
  const all = [...(await Promise.all(mine)), ...(await Promise.all(others)).flat()];
  assert.equal(new Set(all).size, 3 * COUNT);
  // Linux assigns ports to connections from 32,768 on, macOS and Windows from 49,152 on.
  assert.ok(Math.max(...all) < 32_768, String(Math.max(...all)));
});
