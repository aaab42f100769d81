/**
 * Reads the command with which a checkout starts its gateway. The first line of the executable names Node's flags and
 * the settings of the C library, so each of two checkouts is measured as it would run in production.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const FIRST_LINE = /^#!\/usr\/bin\/env -S (?<settings>(?:\w+=\S+ )*)node (?<flags>.*)$/m;

export interface GatewayCommand {
  /** The command runs the Node.js binary of this process, not the one that `env` would find. */
  command: string[];
  env: Record<string, string>;
}

/** Returns the command line and environment that start this checkout's gateway. `more`: additional Node flags. */
export function gatewayCommand(checkout: string, more: string[] = []): GatewayCommand {
  const file = join(checkout, "gateway/bin/tollgate.mjs");
  const { settings, flags } = FIRST_LINE.exec(readFileSync(file, "utf8"))?.groups ?? {};
  if (settings === undefined || flags === undefined) throw new Error(`${file} does not begin as a command does`);
  const env = settings.split(" ").flatMap((setting) => (setting === "" ? [] : [setting.split("=", 2)]));
  return { command: [process.execPath, ...flags.split(" "), ...more, file], env: Object.fromEntries(env) };
}
