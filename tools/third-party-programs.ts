/**
 * Builds programs of other projects that some end-to-end suites need: an OpenID provider, Stripe's own mock of its API,
 * and a newer pgbouncer (`debian-packages.ts`). The versions of the built programs are set in this file only.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { unpackNewerPgbouncer } from "./debian-packages.ts";
import { buildAsDependency, buildBinaryOnce, cacheFolder, goInstall } from "./go-builds.ts";
import { installPythonTools } from "./python-tools.ts";

const CACHE = cacheFolder("peers");

const PEERS = {
  dex: {
    version: "2.45.1",
    tests: "signing in by Dex",
    make: buildAsDependency({
      module: "github.com/dexidp/dex",
      // The commit of version 2.45.1: Go does not recognise the project's tags as versions.
      version: "v0.0.0-20260303133905-11d2eeb52b42",
      command: "cmd/dex",
    }),
  },
  "stripe-mock": {
    version: "0.203.0",
    tests: "what is asked of Stripe, held to its published API",
    make: goInstall("github.com/stripe/stripe-mock@v0.203.0"),
  },
} as const;

export type ThirdPartyProgram = keyof typeof PEERS;

const pathOf = (name: ThirdPartyProgram): string => join(CACHE, `${name}-${PEERS[name].version}`);

/** Returns the path of the binary, or undefined if it is not built on this machine. */
export function thirdPartyBinary(name: ThirdPartyProgram): string | undefined {
  return existsSync(pathOf(name)) ? pathOf(name) : undefined;
}

/** The `skip` option of suites that need the program: false, or the reason to skip them. */
export const explainSkipWithout = (name: ThirdPartyProgram): string | false =>
  thirdPartyBinary(name) === undefined && `${name} is not built: npm test builds it where Go is installed`;

/**
 * Builds all programs, which takes minutes the first time. For each program that could not be built, returns a line
 * with the tests that are left out.
 */
export async function buildThirdPartyPrograms(): Promise<string[]> {
  const lines = [...(await installPythonTools(["caddy", "envoy"])), ...(await unpackNewerPgbouncer())];
  // Built one after the other, because each build uses all processors.
  for (const name of Object.keys(PEERS) as ThirdPartyProgram[]) {
    const why = await buildBinaryOnce(pathOf(name), name, PEERS[name].make);
    if (why !== undefined) lines.push(`left out: ${PEERS[name].tests} (${name} ${PEERS[name].version}: ${why})`);
  }
  return lines;
}
