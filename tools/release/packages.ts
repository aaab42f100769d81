/** Defines the npm packages of a release: each package's entry points, files and dependencies. */

export interface PackageSpec {
  name: "tollgate" | "tollgate-host";
  /** The workspace whose package.json is used. */
  workspace: string;
  description: string;
  /** The entry points: the command, and the scripts of worker threads. */
  entries: string[];
  /** The files' paths in the package are relative to this folder. */
  base: string;
  command: string;
  /** The oldest major version of Node that runs the package. */
  nodeMajor: number;
  /** Whether the used code of dependencies is bundled into the package; otherwise users install the dependencies. */
  carriesDependencies: boolean;
  /** Files that are read at run time and copied unchanged, as globs from the root. */
  files: string[];
  /** Workspaces whose dependencies the bill of materials lists. */
  materials: string[];
  /** Workspaces whose dependencies are bundled, so that their licences must be included. */
  carried: string[];
}

export const PACKAGES: PackageSpec[] = [
  {
    name: "tollgate",
    workspace: "gateway",
    description: "Prepaid, metered inference in the OpenAI dialect: the gateway with its console and its command line.",
    entries: [
      "gateway/bin/tollgate.mjs",
      "gateway/src/routes/reading/body-reading-worker.ts",
      "gateway/src/metering/counting-worker.ts",
    ],
    // The package keeps the repository's layout, so that files find each other by the same relative paths.
    base: "",
    command: "gateway/bin/tollgate.js",
    nodeMajor: 24,
    carriesDependencies: false,
    files: [
      "gateway/src/**/page/*",
      "gateway/sql/**/*.sql",
      "gateway/catalogue/**/*",
      "console/dist/**/*",
      "docs/dist/**/*",
    ],
    materials: ["tollgate", "@tollgate/console"],
    carried: ["@tollgate/console"],
  },
  {
    name: "tollgate-host",
    workspace: "host",
    description: "The agent and command line of a Tollgate host: serve requests with this machine and earn by them.",
    entries: ["host/bin/tollgate-host.mjs"],
    base: "host",
    command: "bin/tollgate-host.mjs",
    nodeMajor: 20,
    // Dependencies are bundled, so that a host's machine gets few files: installed separately, they are ten times as
    // large.
    carriesDependencies: true,
    files: [],
    materials: ["tollgate-host"],
    carried: ["tollgate-host"],
  },
];

export interface Manifest {
  version: string;
  license: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

/** The public repository of the sources, against which a package's provenance is checked. */
export interface SourceRepository {
  repository?: string | undefined;
}

/**
 * Creates the package.json of the npm package. Optional dependencies of the workspace become optional peers: users
 * install them as needed, and npm checks their versions.
 */
export function makeManifest(spec: PackageSpec, workspace: Manifest, origin: SourceRepository = {}): object {
  const node = `>=${spec.nodeMajor}`;
  // The npm package `node` contains Node, for machines whose own Node is older.
  const optional = { ...workspace.optionalDependencies, ...workspace.peerDependencies, node };
  const installed = Object.entries(workspace.dependencies ?? {}).filter(([name]) => !name.startsWith("@tollgate/"));
  return {
    name: spec.name,
    version: workspace.version,
    description: spec.description,
    license: workspace.license,
    type: "module",
    bin: { [spec.name]: spec.command },
    engines: { node },
    ...(!spec.carriesDependencies && { dependencies: Object.fromEntries(installed) }),
    peerDependencies: optional,
    peerDependenciesMeta: Object.fromEntries(Object.keys(optional).map((name) => [name, { optional: true }])),
    ...(origin.repository !== undefined && {
      repository: { type: "git", url: `git+${origin.repository}.git`, directory: spec.workspace },
    }),
  };
}
