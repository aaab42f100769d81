/** The recorded answers: one JSON file for each request that a page made, in a folder for each kind of visitor. */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const FOLDER = fileURLToPath(new URL("recorded", import.meta.url));
/** When the answers were recorded. Pages ask for times relative to now, so every replay stands at this time. */
const MOMENT = join(FOLDER, "moment.json");

/** Who asks: somebody who is not signed in, the builder who also hosts, the operator. */
export type Role = "visitor" | "builder" | "operator";

export interface RecordedEvent {
  event?: string;
  /** Parsed where it is JSON. */
  data: unknown;
}

export interface Recorded {
  as: Role;
  /** `GET /console/api/keys?limit=100`. */
  request: string;
  /** The body of a request that has one. */
  sent?: unknown;
  status: number;
  body?: unknown;
  /** In place of a body, where the answer is a stream of server-sent events. */
  events?: RecordedEvent[];
}

/** By its path in the folder. */
type Recording = Map<string, Recorded>;

export const readMoment = (): Date => new Date(JSON.parse(readFileSync(MOMENT, "utf8")).at);

export function readRecording(): Recording {
  const files = globSync("*/*.json", { cwd: FOLDER }).sort();
  return new Map(files.map((file) => [file, JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as Recorded]));
}

/** Replaces what was recorded before. */
export function writeRecording(answers: Recorded[], moment: Date): void {
  rmSync(FOLDER, { recursive: true, force: true });
  const taken = new Set<string>();
  for (const answer of answers) {
    let file = `${answer.as}/${nameOf(answer.request)}.json`;
    for (let n = 2; taken.has(file); n++) file = `${answer.as}/${nameOf(answer.request)}-${n}.json`;
    taken.add(file);
    mkdirSync(dirname(join(FOLDER, file)), { recursive: true });
    writeFileSync(join(FOLDER, file), JSON.stringify(answer));
  }
  writeFileSync(MOMENT, JSON.stringify({ at: moment }));
}

/** `POST /console/api/operator/accounts/acc_1/grant?x=1` → `POST-operator-accounts-acc_1-grant,x=1`. */
function nameOf(request: string): string {
  const plain = decodeURIComponent(request)
    .replace(/^GET /, "")
    .replace(/\/console\/api\/|\.json$/g, "")
    .replace("?", ",");
  return plain.replaceAll(/[^\w.,=]+/g, "-").replace(/^-/, "");
}
