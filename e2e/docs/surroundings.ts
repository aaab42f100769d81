/**
 * The environment in which a page's blocks run: a separate folder, a separate home and, by the page's kind, a platform
 * or a fresh clone. Blocks cannot change the checkout, the user's home or globally installed packages.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  constants,
  copyFileSync,
  globSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { databaseOf, dropDatabase, openDatabase } from "@tollgate/stage/database.ts";
import { newDataDir, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import { bareEnvironment, freePort } from "@tollgate/stage/process.ts";
import { fillIn, portsIn, replacePorts, type Values } from "../../tools/doc-tests/fill-in.ts";
import type { PageKind } from "../../tools/doc-tests/page.ts";
import type { Packages } from "./packages.ts";

export interface Surroundings {
  /** The working directory of the first block. */
  folder: string;
  /** The folder for the runner's own files. */
  scratch: string;
  env: NodeJS.ProcessEnv;
  /** Replaces the placeholders in a block's text with the real address, ports and credentials. */
  fill(text: string): string;
  /** Stores the credentials that the page's own platform printed. */
  learn(values: Values): void;
  close(): Promise<void>;
}

interface Options {
  kind: Exclude<PageKind, "none">;
  /** The text of all blocks. */
  text: string;
  packages: Packages;
  /** The root of the checkout. */
  root: string;
}

export async function openSurroundings({ kind, text, packages, root }: Options): Promise<Surroundings> {
  const base = mkdtempSync(join(tmpdir(), "tollgate-docs-"));
  // As root, the private PostgreSQL of a clone runs as another user, who must be able to enter the folder.
  chmodSync(base, 0o711);
  const scratch = join(base, "scratch");
  for (const name of [scratch, join(base, "home")]) mkdirSync(name);
  const { npm } = packages;
  if (npm !== undefined && "folder" in npm) symlinkSync(npm.folder, join(base, "node_modules"));
  const shared = { scratch, env: environment(base, packages) };
  const remove = (): void => rmSync(base, { recursive: true, force: true });
  try {
    return kind === "clone" || kind === "clone-with-database"
      ? { ...shared, ...(await clone({ base, root, kind, text, env: shared.env, remove })) }
      : { ...shared, ...(await withPlatform({ base, root, kind, remove, env: shared.env })) };
  } catch (error) {
    remove();
    throw error;
  }
}

type Place = Omit<Surroundings, "scratch">;

/** An empty folder, in which `npx tollgate` and imports find the checkout, and a running platform. */
async function withPlatform(options: {
  base: string;
  root: string;
  kind: PageKind;
  remove: () => void;
  env: NodeJS.ProcessEnv;
}): Promise<Place> {
  const { base, root, kind, remove, env } = options;
  const folder = join(base, "checkout", "page");
  mkdirSync(folder, { recursive: true });
  // The folder has its own package file, so that `npm install` stays in it.
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  symlinkSync(join(root, "node_modules"), join(base, "checkout", "node_modules"));
  const dataDir = await newDataDir();
  // Not `auto`, because an engine that happens to run on this machine is not part of the page.
  const flags = kind === "platform" ? ["--engine", "demo"] : ["--no-node"];
  const platform = await startPlatform(dataDir, flags);
  const { base_url, api_key, host_token } = platform.ready;
  const values = { address: base_url.replace(/\/v1$/, ""), key: api_key, token: host_token };
  return {
    folder,
    // Settings for `tollgate admin`.
    env: { ...env, ...databaseOf(dataDir), DATA_DIR: dataDir },
    fill: (text) => fillIn(text, values),
    learn: () => {},
    async close() {
      const code = await platform.stop();
      await removeDataDir(dataDir);
      remove();
      if (code !== 0) throw new Error(`the page's platform ended with code ${code}:\n${platform.output()}`);
    },
  };
}

/** A clone of HEAD with the checkout's packages, and with free ports instead of those in the page. */
async function clone(options: {
  base: string;
  root: string;
  kind: PageKind;
  text: string;
  env: NodeJS.ProcessEnv;
  remove: () => void;
}): Promise<Place> {
  const { base, root, kind, text, env, remove } = options;
  const folder = join(base, "tollgate");
  execFileSync("git", ["clone", "--quiet", "--local", root, folder], { stdio: ["ignore", "ignore", "inherit"] });
  // What an install and a build would create from the same sources.
  for (const name of globSync(["{*/,}node_modules", "console/dist"], { cwd: root })) {
    linkTree(join(root, name), join(folder, name));
  }
  const named = new Set(["8080", "9090", ...portsIn(text)]);
  const ports = new Map<string, string>();
  for (const port of named) ports.set(port, String(await freePort()));
  let values: Values = {};
  const database = kind === "clone-with-database" ? await openDatabase(folder) : undefined;
  return {
    folder,
    env: {
      ...env,
      // The page creates its own secrets.
      ...(database && { DATABASE_URL: database.DATABASE_URL, DATABASE_DURABILITY: database.DATABASE_DURABILITY }),
      PORT: ports.get("8080"),
      INTERNAL_PORT: ports.get("9090"),
    },
    fill: (written: string) => replacePorts(fillIn(written, values), ports),
    learn(found: Values) {
      values = { ...values, ...found };
    },
    async close() {
      await dropDatabase(folder);
      remove();
    },
  };
}

/** Variables with which this machine reaches package registries. */
const REGISTRIES = /^(PIP_\w+|SSL_\w+|NODE_EXTRA_CA_CERTS|https?_proxy|npm_config_registry|LANG|LC_ALL)$/i;

/** An environment without any of the test run's own variables. */
function environment(base: string, { python }: Packages): NodeJS.ProcessEnv {
  const bare = bareEnvironment();
  const bins = [
    join(base, "global", "bin"),
    ...(python !== undefined && "interpreter" in python ? [dirname(python.interpreter)] : []),
    dirname(process.execPath),
    bare["PATH"] ?? "",
  ];
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => REGISTRIES.test(name))),
    ...bare,
    HOME: join(base, "home"),
    PATH: bins.join(delimiter),
    NO_PROXY: "127.0.0.1,localhost",
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONUTF8: "1",
    // Global packages are installed only for this page.
    npm_config_prefix: join(base, "global"),
    npm_config_userconfig: join(homedir(), ".npmrc"),
    npm_config_cache: join(homedir(), ".npm"),
    npm_config_prefer_offline: "true",
    npm_config_update_notifier: "false",
  };
}

/**
 * Hard-links the files of a tree: a file that is replaced does not change the original. Stamps are copied, because they
 * are overwritten in place.
 */
function linkTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (entry.isDirectory()) {
      if (entry.name !== ".cache") linkTree(source, target);
    } else if (entry.name.startsWith(".")) copyFileSync(source, target);
    else link(source, target);
  }
}

function link(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    copyFileSync(from, to, constants.COPYFILE_FICLONE);
  }
}
