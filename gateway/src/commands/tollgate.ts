/** The table of all `tollgate` commands, by their words. */

import type { CommandTable } from "@tollgate/terminal/command.ts";
import { completionCommand } from "@tollgate/terminal/completion.ts";
import { VERSION } from "../base/version.ts";
import { adminCommands } from "./admin/admin.ts";
import { devCommand } from "./dev.ts";
import { doctorCommand } from "./doctor/doctor.ts";
import { migrateCommand } from "./migrate.ts";
import { serveCommand } from "./serve.ts";
import { apiCommand } from "./session/api.ts";
import { loginCommand } from "./session/login.ts";
import { logoutCommand } from "./session/logout.ts";
import { verifyReceiptCommand } from "./verify-receipt.ts";

export const TOLLGATE_COMMANDS: CommandTable = {
  program: "tollgate",
  version: VERSION,
  help: "prepaid, metered inference: run the gateway and operate the platform",
  example: "dev --port 8081",
  commands: {
    dev: devCommand,
    serve: serveCommand,
    migrate: migrateCommand,
    doctor: doctorCommand,
    login: loginCommand,
    logout: logoutCommand,
    api: apiCommand,
    ...adminCommands,
    "receipt verify": verifyReceiptCommand,
    completion: completionCommand("tollgate", () => TOLLGATE_COMMANDS),
  },
  groups: {
    admin: {
      help: "operate a platform, running or stopped: accounts, keys, nodes, payouts, backups",
      more: [
        "Every command takes --json, for scripts, and --data DIR, the data directory of a platform without DATABASE_URL.",
        "Every change is recorded. tollgate admin audit list shows the recorded changes.",
      ],
      example: "account list --kind builder",
    },
  },
};
