/**
 * The environment in which a page's code blocks run: a separate folder, a separate home and, depending on the page's
 * kind, a running platform or a fresh clone. Blocks cannot change the checkout, the user's home or globally installed
 * packages.
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
import { createDataDir, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { findFreePort, makeMinimalEnvironment } from "@tollgate/stage/killable-process.ts";
import { dropDatabase, findDatabase, openDatabase } from "@tollgate/stage/stage-database.ts";
import {
  fillPlaceholders,
  findPorts,
  type PlaceholderValues,
  replacePorts,
} from "../../tools/doc-tests/fill-placeholders.ts";
import type { PageKind } from "../../tools/doc-tests/read-page.ts";
import type { DocPackages } from "./packages.ts";

export interface PageEnvironment {
  /** The working directory of the first block. */
  folder: string;
  /** The folder for the runner's internal files. */
  scratch: string;
  env: NodeJS.ProcessEnv;
  /** Replaces the placeholders in a block's text with the real address, ports and credentials. */
  fill(text: string): string;
  /** Stores the credentials that a platform printed when the page started it. */
  learn(values: PlaceholderValues): void;
  close(): Promise<void>;
}

interface Options {
  kind: Exclude<PageKind, "none">;
  /** The text of all blocks of the page. */
  text: string;
  packages: DocPackages;
  /** The root of the repository's checkout. */
  root: string;
}

export async function openPageEnvironment({ kind, text, packages, root }: Options): Promise<PageEnvironment> {
  const base = mkdtempSync(join(tmpdir(), "tollgate-docs-"));
  // If this runs as root, the clone's private PostgreSQL runs as another user, who needs access to the folder.
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

type Place = Omit<PageEnvironment, "scratch">;

/** Starts a platform and makes an empty folder, in which `npx tollgate` and imports resolve to the checkout. */
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
  // The folder has its own package.json, so that `npm install` installs into it and not into a parent folder.
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  symlinkSync(join(root, "node_modules"), join(base, "checkout", "node_modules"));
  const dataDir = await createDataDir();
  // Names the engine instead of `auto`, which would use any engine that runs on this machine.
  const flags = kind === "platform" ? ["--engine", "demo"] : ["--no-node"];
  const platform = await startPlatform(dataDir, flags);
  const { base_url, api_key, host_token } = platform.ready;
  const values = { address: base_url.replace(/\/v1$/, ""), key: api_key, token: host_token };
  return {
    folder,
    // Settings with which `tollgate admin` commands find the platform's database and data directory.
    env: { ...env, ...findDatabase(dataDir), DATA_DIR: dataDir },
    fill: (text) => fillPlaceholders(text, values),
    learn: () => {},
    async close() {
      const code = await platform.stop();
      await removeDataDir(dataDir);
      remove();
      if (code !== 0) throw new Error(`the page's platform ended with code ${code}:\n${platform.output()}`);
    },
  };
}

/** Makes a clone of HEAD with the checkout's packages. The ports on the page are replaced by free ones. */
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
  // Links the packages and the built console, which `npm install` and the build would create again from the same
  // sources.
  for (const name of globSync(["{*/,}node_modules", "console/dist"], { cwd: root })) {
    linkTree(join(root, name), join(folder, name));
  }
  const named = new Set(["8080", "9090", ...findPorts(text)]);
  const ports = new Map<string, string>();
  for (const port of named) ports.set(port, String(await findFreePort()));
  let values: PlaceholderValues = {};
  const database = kind === "clone-with-database" ? await openDatabase(folder) : undefined;
  return {
    folder,
    env: {
      ...env,
      // Leaves out the platform's secrets, because the page creates its own.
      ...(database && { DATABASE_URL: database.DATABASE_URL, DATABASE_DURABILITY: database.DATABASE_DURABILITY }),
      PORT: ports.get("8080"),
      INTERNAL_PORT: ports.get("9090"),
    },
    fill: (written: string) => replacePorts(fillPlaceholders(written, values), ports),
    learn(found: PlaceholderValues) {
      values = { ...values, ...found };
    },
    async close() {
      await dropDatabase(folder);
      remove();
    },
  };
}

/** Environment variables that this machine needs to reach package registries. */
const REGISTRIES = /^(PIP_\w+|SSL_\w+|NODE_EXTRA_CA_CERTS|https?_proxy|npm_config_registry|LANG|LC_ALL)$/i;

/** Returns an environment without the test run's own variables. */
function environment(base: string, { python }: DocPackages): NodeJS.ProcessEnv {
  const bare = makeMinimalEnvironment();
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
    // `npm install --global` installs into a folder of this page only.
    npm_config_prefix: join(base, "global"),
    npm_config_userconfig: join(homedir(), ".npmrc"),
    npm_config_cache: join(homedir(), ".npm"),
    npm_config_prefer_offline: "true",
    npm_config_update_notifier: "false",
  };
}

/**
 * Hard-links the files of a folder tree. Replacing a linked file does not change the original. Hidden files such as
 * install stamps are copied, because they are overwritten in place.
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
