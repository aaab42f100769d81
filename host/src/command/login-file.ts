/**
 * What this machine remembers between commands: the gateway, the host token, its node, and how it serves. One file, for
 * its owner alone, in the user's configuration directory.
 */
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, posix, win32 } from "node:path";
import { CommandError } from "@tollgate/terminal/errors.ts";
import { z } from "zod";
import { parseJson } from "../http-body.ts";
import { ENGINES, type EngineSettings, type Remembered } from "./flags.ts";

const FILE = "host.json";
const OTHERS = 0o077;

const Serving = z.object({
  engine: z.enum(ENGINES),
  engine_url: z.string().optional(),
  engine_key: z.string().optional(),
  /** Where engines that were found on this machine were: kind → address. */
  addresses: z.record(z.string(), z.string()).optional(),
  /** Catalogue id → the engine's name for it. */
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

/** How `up` serves without being told: what `elect` settled. */
type Serving = z.infer<typeof Serving>;
export type Login = z.infer<typeof Login>;

export interface LoginFile {
  readonly path: string;
  /** Undefined where no one has logged in. */
  read(): Promise<Login | undefined>;
  write(login: Login): Promise<void>;
  /** Whether there was one. */
  remove(): Promise<boolean>;
  /** Whether other users of this machine can read it. */
  isExposed(): Promise<boolean>;
}

interface ConfigPlace {
  platform: NodeJS.Platform;
  home: string;
  env: { XDG_CONFIG_HOME?: string | undefined; APPDATA?: string | undefined };
}

export function configDirectory({ platform, home, env }: ConfigPlace): string {
  const path = platform === "win32" ? win32 : posix;
  const named = env.XDG_CONFIG_HOME;
  // The XDG rules: a path that is not absolute is to be ignored.
  if (named !== undefined && path.isAbsolute(named)) return path.join(named, "tollgate");
  if (platform === "darwin") return path.join(home, "Library", "Application Support", "tollgate");
  if (platform === "win32") return path.join(env.APPDATA ?? path.join(home, "AppData", "Roaming"), "tollgate");
  return path.join(home, ".config", "tollgate");
}

export function loginFile(directory: string): LoginFile {
  const path = join(directory, FILE);
  return {
    path,
    async read() {
      const text = await ifThere(readFile(path, "utf8"));
      if (text === undefined) return undefined;
      const result = Login.safeParse(parseJson(text));
      if (result.success) return result.data;
      // The file's text is never quoted: it may hold the token.
      throw new CommandError(`${path} is damaged`, { next: "run tollgate-host login to write the file again" });
    },
    async write(login) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await chmod(directory, 0o700);
      const draft = `${path}.${process.pid}.new`;
      try {
        await writeFile(draft, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600, flag: "wx" });
        await rename(draft, path);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    },
    async remove() {
      const there = (await ifThere(stat(path))) !== undefined;
      await rm(path, { force: true });
      return there;
    },
    async isExposed() {
      const found = await ifThere(stat(path));
      return found !== undefined && process.platform !== "win32" && (found.mode & OTHERS) !== 0;
    },
  };
}

async function ifThere<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export function rememberedOf(login: Login): Remembered {
  const { gateway, token, node, serving } = login;
  return { gateway, token, node, serving: serving === undefined ? undefined : settingsOf(serving) };
}

export function settingsOf(serving: Serving): EngineSettings {
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

export function servingOf(settings: EngineSettings, models: string[]): Serving {
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
