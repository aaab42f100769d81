/**
 * Checks the dispatch plane (NATS): each server's version, payload limit and permissions, and the deployment that the
 * plane belongs to.
 */
import { connect } from "node:net";
import { FRAME_BYTES_MAX } from "@tollgate/protocol/frame-limits.ts";
import { type CheckResult, failedCheck, passedCheck } from "@tollgate/terminal/check-results.ts";
import { z } from "zod";
import { withPlane } from "../nats-plane.ts";
import { type DoctorContext, describeError, type Finding, makeUnreachableFinding } from "./doctor-context.ts";
import { encryptionCheck, isThisMachine } from "./encryption.ts";

const ANSWER_MS_MAX = 3_000;
const OLDEST = [2, 9];
const Info = z.object({ version: z.string(), max_payload: z.number(), tls_required: z.boolean().optional() });

export async function* planeChecks(examined: DoctorContext): AsyncGenerator<Finding> {
  const { absent, nats } = examined.config.plane;
  if (absent) yield passedCheck("plane", "the dispatch plane is off: this gateway serves no inference requests");
  else if (nats === undefined)
    yield passedCheck("plane", "the dispatch plane runs inside the gateway (NATS_URL is not set)");
  if (absent || nats === undefined) return;
  const asked = await Promise.all(nats.url.split(",").map(serverCheck));
  const found = asked.map(({ finding }) => finding);
  yield* found;
  yield encryptionCheck(
    "NATS servers",
    asked.flatMap(({ plainTo }) => plainTo ?? []),
    "configure tls on the NATS servers, and write NATS_URL with tls://",
  );
  if (found.every(({ verdict }) => verdict === "fail")) return;
  yield await rightsCheck(examined);
}

interface AskedServer {
  finding: Finding;
  /** The server's address if the gateway connects to it without TLS over a network. */
  plainTo?: string;
}

async function serverCheck(url: string): Promise<AskedServer> {
  const { protocol, hostname, port } = new URL(url);
  const place = `${hostname}:${port === "" ? 4222 : port}`;
  try {
    const info = await greeting({ host: hostname, port: port === "" ? 4222 : Number(port) });
    const isPlain = protocol !== "tls:" && info.tls_required !== true && !isThisMachine(hostname);
    return { finding: checkNatsServer(place, info), ...(isPlain && { plainTo: place }) };
  } catch (error) {
    const finding = makeUnreachableFinding("plane", error, `check NATS_URL, and that the NATS server at ${place} runs`);
    return { finding: { ...finding, detail: `${place}: ${finding.detail}` } };
  }
}

/** Reads the line with which a NATS server introduces itself, even before TLS. */
function greeting(at: { host: string; port: number }): Promise<z.infer<typeof Info>> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...at, timeout: ANSWER_MS_MAX });
    let said = "";
    const fall = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    socket.on("timeout", () => fall(new Error(`no response within ${ANSWER_MS_MAX / 1000} s`)));
    socket.on("error", fall);
    socket.on("end", () => fall(new Error("the server closed the connection before it sent its INFO line")));
    socket.on("data", (piece) => {
      said += piece.toString();
      if (!said.includes("\r\n")) return;
      socket.destroy();
      const [, json] = /^INFO (\{.*\})/.exec(said) ?? [];
      const info = json === undefined ? undefined : Info.safeParse(JSON.parse(json)).data;
      if (info === undefined) reject(new Error("the server is not a NATS server"));
      else resolve(info);
    });
  });
}

export function checkNatsServer(place: string, { version, max_payload: bytesMax }: z.infer<typeof Info>): CheckResult {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor))
    return failedCheck("plane", `${place} has NATS ${version}`, `update NATS to ${OLDEST.join(".")} or newer`);
  if (bytesMax < FRAME_BYTES_MAX)
    return failedCheck(
      "plane",
      `${place} accepts messages of at most ${bytesMax} bytes, but Tollgate needs ${FRAME_BYTES_MAX}`,
      "set max_payload to 1MB in the NATS server's configuration",
    );
  return passedCheck("plane", `${place} has NATS ${version}`);
}

async function rightsCheck(examined: DoctorContext): Promise<Finding> {
  const next =
    "set the variables that tollgate admin plane init wrote into gateway.env, and start NATS with its nats-server.conf";
  try {
    return await withPlane(examined, async ({ isAway }) =>
      isAway
        ? failedCheck("plane", "the NATS servers respond, but reject this gateway's keys", next)
        : passedCheck("plane", "the NATS servers accept this gateway's keys"),
    );
  } catch (error) {
    return failedCheck("plane", describeError(error), next);
  }
}
