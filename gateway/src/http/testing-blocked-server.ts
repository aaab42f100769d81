/**
 * A program: a server that prints its port and then blocks its process until it can read a byte from standard input. Then
 * it answers.
 */
import { readSync, writeSync } from "node:fs";
import { createServerWithoutRoutes, listen } from "./server.ts";

const app = createServerWithoutRoutes();
app.get("/", () => "answered");
const port = await listen(app, { host: "127.0.0.1", port: 0 }, { host: "HOST", port: "PORT" });
writeSync(1, `${port}\n`);
readSync(0, Buffer.alloc(1));
