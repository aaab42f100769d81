/** Stores this machine's session (gateway, token, access level) in a file with mode 0600. */
import { homedir, platform } from "node:os";
import { join } from "node:path";
import type { BaseCommandContext } from "@tollgate/terminal/command.ts";
import { CommandError } from "@tollgate/terminal/errors.ts";
import {
  configDirectory,
  readPrivateFile,
  removePrivateFile,
  writePrivateFile,
} from "@tollgate/terminal/private-file.ts";
import { z } from "zod";

const Kept = z.object({
  gateway: z.string(),
  token: z.string(),
  access: z.enum(["read", "write"]),
  expires_at: z.number(),
});
type KeptSession = z.infer<typeof Kept>;

const NEXT = "run tollgate login";

export const findSessionFile = ({ env }: Pick<BaseCommandContext, "env">): string =>
  join(configDirectory({ platform: platform(), home: homedir(), env }), "session.json");

export async function readStoredSession(context: Pick<BaseCommandContext, "env">): Promise<KeptSession> {
  const path = findSessionFile(context);
  const text = await readPrivateFile(path);
  if (text === undefined) throw new CommandError("this machine is not logged in to a gateway", { next: NEXT });
  const result = Kept.safeParse(parsed(text));
  if (result.success) return result.data;
  // The error does not quote the file, which may contain the token.
  throw new CommandError(`${path} is damaged`, { next: `${NEXT} to write the file again` });
}

export const storeSession = (context: Pick<BaseCommandContext, "env">, session: KeptSession): Promise<void> =>
  writePrivateFile(findSessionFile(context), `${JSON.stringify(session, null, 2)}\n`);

export const deleteStoredSession = (context: Pick<BaseCommandContext, "env">): Promise<boolean> =>
  removePrivateFile(findSessionFile(context));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
