/** The engine itself, without anything in front of it: what the others are compared with. */
import { MODEL } from "../engine/pieces.ts";
import type { StartTarget } from "./target.ts";

export const direct: StartTarget = async ({ engine }) => ({
  name: "direct",
  address: { port: engine.port, models: { chat: MODEL, embedding: MODEL }, headers: {} },
  parts: {},
  inspectors: {},
  stop: async () => {},
});
