/** The npm packages of a release: what each starts from, carries and leaves to be installed. */

export interface PackageSpec {
  name: "tollgate" | "tollgate-host";
  /** The workspace whose manifest it is made from. */
  workspace: string;
  description: string;
  /** The files that others are reached from: the command, and the scripts of worker threads. */
  entries: string[];
  /** Where these lie in the package, the command first, is where they lie below this folder. */
  base: string;
  command: string;
  /** The oldest Node that runs it. */
  nodeMajor: number;
  /** Code of other people is part of the files, as far as it is used; else it is a dependency. */
  carriesDependencies: boolean;
  /** Copied as they are, as globs from the root: what is read at run time. */
  files: string[];
  /** Workspaces whose dependencies are in the package or beside it, for the bill of materials. */
  materials: string[];
  /** Workspaces whose dependencies are within its files, so that their licences have to come along. */
  carried: string[];
}

export const PACKAGES: PackageSpec[] = [
  {
    name: "tollgate",
    workspace: "gateway",
    description: "Prepaid, metered inference in the OpenAI dialect: the gateway with its console and its command line.",
    entries: ["gateway/bin/tollgate.mjs", "gateway/src/routes/reading/worker.ts", "gateway/src/metering/worker.ts"],
    // Laid out as the repository is, so that files find each other in the same way.
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
    // A host's machine gets few files and nothing else: installed apart, its dependencies are ten times as large.
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

/** Where the sources are public, which is what a package's provenance is checked against. */
export interface Origin {
  repository?: string | undefined;
}

/**
 * The package's own manifest. What is optional in the workspace is an optional peer: it is installed by who asks for it, and npm
 * then minds its version.
 */
export function manifestOf(spec: PackageSpec, workspace: Manifest, origin: Origin = {}): object {
  const node = `>=${spec.nodeMajor}`;
  // The npm package `node`, for a machine whose own is older.
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
