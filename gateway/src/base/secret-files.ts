/**
 * Reads secrets from files, as orchestrators and systemd provide them. The variable NAME_FILE has the path of the file
 * with the value of NAME.
 */
import { readFileSync } from "node:fs";

interface SecretFileResult {
  variables: Record<string, string>;
  mistakes: string[];
}

/** Adds the contents of these files to the variables. Removes a final line feed. */
export function readSecretFiles(variables: Record<string, string>, secrets: string[]): SecretFileResult {
  const read: Record<string, string> = {};
  const mistakes: string[] = [];
  for (const name of secrets) {
    const file = variables[`${name}_FILE`];
    if (file === undefined) continue;
    if (variables[name] !== undefined) {
      mistakes.push(`${name} and ${name}_FILE must not both be set`);
      continue;
    }
    try {
      read[name] = readFileSync(file, "utf8").replace(/\r?\n$/, "");
    } catch (error) {
      mistakes.push(`${name}_FILE: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
      continue;
    }
    if (read[name] === "") mistakes.push(`${name}_FILE: ${file} is empty`);
  }
  return { variables: { ...variables, ...read }, mistakes };
}
