/** Warns of connections that leave this machine without TLS: to the database, the limits server and NATS. */
import { isIP } from "node:net";
import { type CheckResult, passedCheck, warningCheck } from "@tollgate/terminal/check-results.ts";
import { parseDatabaseHosts } from "../../db/database-client.ts";
import type { DoctorContext } from "./doctor-context.ts";

/** sslmodes with which a connection may be made without TLS. */
const MAYBE_PLAIN = ["disable", "allow", "prefer"];

/** Whether the host is this machine. Undefined and paths stand for its Unix sockets. */
export function isThisMachine(host: string | undefined): boolean {
  if (host === undefined || host === "" || host === "localhost" || host.startsWith("/")) return true;
  const address = host.replace(/^\[|\]$/g, "");
  return isIP(address) !== 0 && (address === "::1" || address.startsWith("127."));
}

export function encryptionCheck(what: string, places: string[], next: string): CheckResult {
  return places.length === 0
    ? passedCheck("encryption", `the connection to the ${what} uses TLS or stays on this machine`)
    : warningCheck("encryption", `the connection to the ${what} at ${places.join(", ")} may be without TLS`, next);
}

/** NATS is checked with its servers (plane.ts), because they decide whether a nats:// connection uses TLS. */
export function* encryptionChecks({
  config: { databaseUrl, valkeyUrl },
}: Pick<DoctorContext, "config">): Generator<CheckResult> {
  if (databaseUrl !== undefined) {
    const { address, sslMode } = parseDatabaseHosts({ connectionString: databaseUrl });
    const hosts = address.hosts.map(({ host }) => host ?? process.env.PGHOST).filter((host) => !isThisMachine(host));
    yield encryptionCheck(
      "database",
      MAYBE_PLAIN.includes(sslMode) ? (hosts as string[]) : [],
      "add sslmode=verify-full to DATABASE_URL (docs/operators/high-availability.md#postgresql)",
    );
  }
  if (valkeyUrl !== undefined) {
    const isPlain = /^(valkey|redis):/.test(valkeyUrl);
    const { hostname } = isPlain ? new URL(valkeyUrl) : { hostname: "" };
    yield encryptionCheck(
      "limits server",
      isThisMachine(hostname) ? [] : [hostname],
      "serve TLS on the limits server, and write VALKEY_URL with valkeys:// or rediss://",
    );
  }
}
