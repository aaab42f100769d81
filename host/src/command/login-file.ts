/**
 * Stores this machine's settings between commands: the gateway, the host token, the node, and its serving settings.
 * They are in one file in the user's configuration directory, readable only by its owner.
 */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "@tollgate/terminal/errors.ts";
import {
  readPrivateFile,
  removePrivateFile,
  undefinedIfMissing,
  writePrivateFile,
} from "@tollgate/terminal/private-file.ts";
import { z } from "zod";
import { parseJson } from "../read-response-body.ts";
import { ENGINES, type EngineSettings, type StoredSettings } from "./flags.ts";

const FILE = "host.json";
const OTHERS = 0o077;

const Serving = z.object({
  engine: z.enum(ENGINES),
  engine_url: z.string().optional(),
  engine_key: z.string().optional(),
  /** The addresses at which engines were found on this machine, by kind of engine. */
  addresses: z.record(z.string(), z.string()).optional(),
  /** The engine's model names by catalogue ID. */
  map: z.record(z.string(), z.string()).optional(),
  models: z.array(z.string()).min(1),
  slots: z.int().min(1).optional(),
  model_file: z.string().optional(),
  model_as: z.string().optional(),
});
const Login = z.object({
  gateway: z.string(),
  token: z.string(),
  node: z.object({ id: z.string(), name: z.string() }).optional(),
  serving: Serving.optional(),
});

/** The settings that `elect` stored for `up`. */
type Serving = z.infer<typeof Serving>;
export type Login = z.infer<typeof Login>;

export interface LoginFile {
  readonly path: string;
  /** Reads the stored login. Undefined before the first login. */
  read(): Promise<Login | undefined>;
  write(login: Login): Promise<void>;
  /** Deletes the file. Returns whether it existed. */
  remove(): Promise<boolean>;
  /** Whether other users of this machine can read the file. */
  isExposed(): Promise<boolean>;
}

export function openLoginFile(directory: string): LoginFile {
  const path = join(directory, FILE);
  return {
    path,
    async read() {
      const text = await readPrivateFile(path);
      if (text === undefined) return undefined;
      const result = Login.safeParse(parseJson(text));
      if (result.success) return result.data;
      // The error must not quote the file, which may contain the token.
      throw new CommandError(`${path} is damaged`, { next: "run tollgate-host login to replace the login file" });
    },
    write: (login) => writePrivateFile(path, `${JSON.stringify(login, null, 2)}\n`),
    remove: () => removePrivateFile(path),
    async isExposed() {
      const found = await undefinedIfMissing(stat(path));
      return found !== undefined && process.platform !== "win32" && (found.mode & OTHERS) !== 0;
    },
  };
}

export function toStoredSettings(login: Login): StoredSettings {
  const { gateway, token, node, serving } = login;
  return { gateway, token, node, serving: serving === undefined ? undefined : toEngineSettings(serving) };
}

export function toEngineSettings(serving: Serving): EngineSettings {
  return {
    engine: serving.engine,
    engineUrl: serving.engine_url,
    engineKey: serving.engine_key,
    map: new Map(Object.entries(serving.map ?? {})),
    models: serving.models,
    slots: serving.slots,
    addresses: serving.addresses,
    modelFile: serving.model_file,
    modelAs: serving.model_as,
  };
}

export function toServingSettings(settings: EngineSettings, models: string[]): Serving {
  const { engine, engineUrl, engineKey, addresses, map, slots, modelFile, modelAs } = settings;
  return {
    engine,
    models,
    ...(engineUrl === undefined ? {} : { engine_url: engineUrl }),
    ...(engineKey === undefined ? {} : { engine_key: engineKey }),
    ...(addresses === undefined ? {} : { addresses }),
    ...(map.size === 0 ? {} : { map: Object.fromEntries(map) }),
    ...(slots === undefined ? {} : { slots }),
    ...(modelFile === undefined ? {} : { model_file: modelFile }),
    ...(modelAs === undefined ? {} : { model_as: modelAs }),
  };
}
