/** Every command of `tollgate`, by its words. */
import { VERSION } from "../base/version.ts";
import { adminCommands } from "./admin/admin.ts";
import { dev } from "./dev.ts";
import type { CommandTable } from "./line/command.ts";
import { migrateOnly } from "./migrate.ts";
import { receiptVerify } from "./receipt.ts";
import { serve } from "./serve.ts";

export const TOLLGATE: CommandTable = {
  program: "tollgate",
  version: VERSION,
  help: "Prepaid, metered inference: the gateway, and what its operators do",
  example: "dev --port 8081",
  commands: { dev, serve, ...adminCommands, "receipt verify": receiptVerify, migrate: migrateOnly },
  groups: {
    admin: {
      help: "operate a platform, live or stopped; tollgate admin --help lists the commands",
      more: [
        "Every command takes --json, for scripts, and --data DIR, the data directory of a platform without DATABASE_URL.",
        "What changes something is on the operators' record: tollgate admin audit list.",
      ],
      example: "account list --kind builder",
    },
  },
};
