/** The text that `npm start` prints when the platform is ready. */
import type { Terminal } from "@tollgate/terminal/terminal.ts";
import { alignProperties } from "@tollgate/terminal/terminal-text.ts";
import type { AgentOnlineMessage } from "./dev-nodes.ts";

interface Ready {
  /** The base URL for OpenAI clients, with `/v1`. */
  baseUrl: string;
  consoleUrl: string;
  /** The demo payment provider's page; undefined without payments. */
  paymentsUrl: string | undefined;
  apiKey: string;
  signIn: { email: string; password: string };
  online: AgentOnlineMessage[];
  /** Notes about nodes that do not serve, with the reason. */
  notes: string[];
  /** The model used in the printed example request. */
  model: string;
}

export function formatReadyLines(
  { baseUrl, consoleUrl, paymentsUrl, apiKey, signIn, online, notes, model }: Ready,
  { paint }: Pick<Terminal, "paint">,
): string[] {
  const nodes = online.map(
    ({ engine, models, slots }) =>
      `${engine} (${models.length} ${models.length === 1 ? "model" : "models"}, ${slots} slots)`,
  );
  const question = JSON.stringify({
    model,
    stream: true,
    messages: [{ role: "user", content: "Tell me a story about a fox" }],
  });
  const rows: [string, string][] = [
    ["Base URL", baseUrl],
    ["API key", apiKey],
    ["Console", consoleUrl],
    ["Sign in", `${signIn.email} / ${signIn.password}`],
    ["Node", nodes.length === 0 ? "none" : nodes.join(", ")],
    ...(paymentsUrl === undefined ? [] : [["Payments", paymentsUrl] as [string, string]]),
    ...notes.map((note): [string, string] => ["Note", paint.warn(note)]),
  ];
  return [
    "",
    paint.good(paint.strong("Tollgate is ready.")),
    "",
    ...alignProperties(rows.map(([name, value]) => [paint.dim(name), value])),
    "",
    ...(nodes.length === 0 ? ["No node is online yet. When a node is online, try:"] : ["Try it:"]),
    "",
    `curl -N ${baseUrl}/chat/completions \\`,
    `  -H "Authorization: Bearer ${apiKey}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${question}'`,
    "",
    paint.dim("Ctrl-C stops everything."),
  ].map((line) => (line === "" ? "" : `  ${line}`));
}
