/** The `tollgate` command: picks the subcommand and turns every expected failure into one clear line and exit code 1. */
import { admin } from "./admin/admin.ts";
import { dev } from "./dev.ts";
import { migrateOnly } from "./migrate.ts";
import { receipt } from "./receipt.ts";
import { serve } from "./serve.ts";

const COMMANDS: Record<string, { run: (args: string[]) => Promise<number>; help: string }> = {
  dev: { run: dev, help: "a whole platform on this machine, with data under ./data (npm start)" },
  serve: { run: serve, help: "the gateway, configured by environment variables alone" },
  admin: { run: admin, help: "operate a platform; tollgate admin lists its commands" },
  receipt: { run: receipt, help: "verify a usage receipt offline" },
  migrate: { run: migrateOnly, help: "bring the database at DATABASE_URL up to date, then exit" },
};

const [name = "help", ...args] = process.argv.slice(2);
const command = COMMANDS[name];
if (command === undefined) {
  const known = Object.entries(COMMANDS).map(([key, { help }]) => `  tollgate ${key.padEnd(9)} ${help}`);
  const asked = name === "help" || name === "--help" || name === "-h";
  if (!asked) console.error(`tollgate: there is no command '${name}'.`);
  console.log(["Usage: tollgate COMMAND [flags]", ...known].join("\n"));
  process.exit(asked ? 0 : 1);
}
try {
  process.exitCode = await command.run(args);
} catch (error) {
  // The message is written for the person at the terminal; the stack is for whoever asks for it.
  const message = error instanceof Error ? error.message : String(error);
  console.error(`tollgate: ${message.split("\n")[0]}`);
  if (process.env.TOLLGATE_TRACE !== undefined) console.error(error);
  process.exit(1);
}
