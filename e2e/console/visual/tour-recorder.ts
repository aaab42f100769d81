/** Runs tours (scripted visits of the console's pages) on a running platform, and writes the API's responses to files. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ReadyFile } from "@tollgate/stage/dev-platform.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { openBrowser, openSecondUser, openSession } from "../console-browser.ts";
import { DEMO_USER } from "../lifelike/demo-accounts.ts";
import { runOnEveryScreen } from "./page-checks.ts";
import type { Tour } from "./page-tour.ts";
import { RECORDING_FOLDER, type RecordedResponse, writeRecording } from "./recording-files.ts";
import { startRecordingProxy } from "./recording-proxy.ts";
import { replaceSecrets } from "./replace-secrets.ts";
import { TIME_ZONE } from "./replayed-console.ts";

const BIOME = fileURLToPath(new URL("../../../node_modules/.bin/biome", import.meta.url));
const ROWS_MAX = 6;

export async function recordTours(ready: Pick<ReadyFile, "gateway_url" | "operator">, tours: Tour[]): Promise<void> {
  const moment = new Date();
  const proxy = await startRecordingProxy(ready.gateway_url);
  const options = { baseUrl: proxy.baseUrl, timeZone: TIME_ZONE };
  const people = { visitor: undefined, builder: DEMO_USER, operator: ready.operator };
  const browser = await openBrowser(options);
  try {
    for (const { title, as, visit } of tours) {
      const session = await openSecondUser(browser, options);
      const { page, context } = session;
      await context.clock.setFixedTime(moment);
      const person = people[as];
      if (person !== undefined) await openSession(page, person);
      proxy.recordAs(as);
      const untilAnswered = (): Promise<unknown> => eventually("every answer has come", () => proxy.pending() === 0);
      const check = async (): Promise<void> => {
        await runOnEveryScreen(page, async () => {});
        await untilAnswered();
      };
      await visit({ browser: session, page, check, checkFit: check });
      await untilAnswered();
      proxy.recordAs(undefined);
      await session.close();
      console.log(`${as}: ${title}`);
    }
    proxy.recordAs("visitor");
    await (await fetch(`${proxy.baseUrl}/status.json`)).text();
  } finally {
    await browser.close();
    await proxy.close();
  }
  const answers = proxy
    .answers()
    .filter(({ request }) => !request.includes("cursor="))
    .toSorted((a, b) => compare(`${a.as} ${a.request}`, `${b.as} ${b.request}`));
  writeRecording(replaceSecrets(answers.map(shortened)), moment);
  spawnSync(BIOME, ["format", "--write", RECORDING_FOLDER], { stdio: "inherit" });
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Shortens long lists to their first rows. More rows would only make every check slower. */
function shortened(answer: RecordedResponse): RecordedResponse {
  const { data, next_cursor: next } = (answer.body ?? {}) as { data?: unknown; next_cursor?: unknown };
  if (!Array.isArray(data) || typeof next !== "string") return answer;
  return { ...answer, body: { ...(answer.body as object), data: data.slice(0, ROWS_MAX), next_cursor: null } };
}
