/** Creates a package's bill of materials (CycloneDX, by npm) and the licences of its files. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Component {
  name: string;
  version: string;
  "bom-ref": string;
  purl?: string;
  type?: string;
  description?: string;
  licenses?: { license?: { id?: string; name?: string }; expression?: string }[];
  properties?: { name: string; value: string }[];
}

interface BillOfMaterials {
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/**
 * Creates a bill of materials of what is installed on a platform, without tools and optional packages. npm names the
 * workspace as its subject, which is replaced with the package.
 */
export function createBillOfMaterials(
  root: string,
  workspaces: string[],
  subject: { name: string; version: string },
): BillOfMaterials {
  const chosen = workspaces.flatMap((name) => ["--workspace", name]);
  const text = execFileSync(
    "npm",
    ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--omit", "optional", ...chosen],
    {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 64 << 20,
      stdio: ["ignore", "pipe", "inherit"],
      shell: process.platform === "win32",
    },
  );
  const bill: BillOfMaterials = JSON.parse(text);
  const ref = `${subject.name}@${subject.version}`;
  const component: Component = {
    "bom-ref": ref,
    type: "application",
    ...subject,
    purl: `pkg:npm/${ref}`,
    licenses: [{ license: { id: "Apache-2.0" } }],
  };
  const whole = bill.metadata.component["bom-ref"];
  const components = bill.components
    .filter((part) => part["bom-ref"] !== ref)
    .map((part) => (isOurs(part) ? { ...part, name: nameIn(part["bom-ref"]) } : part));
  const dependencies = bill.dependencies.filter((line) => line.ref !== whole);
  return { ...bill, metadata: { ...bill.metadata, component }, components, dependencies };
}

/** Returns a workspace's package name: npm uses the names of the folders instead. */
const nameIn = (ref: string): string => ref.slice(0, ref.lastIndexOf("@"));
const isOurs = (part: Component): boolean => /^(@tollgate\/|tollgate(-host)?@)/.test(part["bom-ref"]);

/** Returns the licence texts of every package in the bills of materials as one text. */
export function collectLicences(root: string, bills: BillOfMaterials[]): string {
  const parts = new Map(bills.flatMap(({ components }) => components.map((part) => [part["bom-ref"], part])));
  const texts = [...parts.values()]
    .filter((part) => !isOurs(part))
    .toSorted((a, b) => a.name.localeCompare(b.name))
    .map((part) => `${part.name} ${part.version} (${licenceName(part)})\n\n${licenceText(root, part)}`);
  return `Third-party software within these files\n\n${texts.join("\n\n---\n\n")}\n`;
}

function licenceName({ name, licenses }: Component): string {
  const [first] = licenses ?? [];
  const found = first?.expression ?? first?.license?.id ?? first?.license?.name;
  if (found === undefined) throw new Error(`${name} names no licence`);
  return found;
}

/** Returns a package's licence text. Some packages only name their licence. */
function licenceText(root: string, { name, properties = [] }: Component): string {
  const path = properties.find((property) => property.name === "cdx:npm:package:path")?.value ?? `node_modules/${name}`;
  const folder = join(root, path);
  const file = readdirSync(folder).find((entry) => /^(un)?licen[cs]e(\.|$)/i.test(entry));
  return file === undefined ? "The package has no licence file." : readFileSync(join(folder, file), "utf8").trim();
}
