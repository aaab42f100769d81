/** Switches a list between active and revoked secrets. Hidden if none is revoked. */
import { SegmentedChoice } from "../ui/segmented-choice.tsx";

export type SecretFilter = "active" | "revoked";

interface Props {
  /** For example "Which keys". */
  label: string;
  shown: SecretFilter;
  secrets: { revoked_at: number | null }[];
  onChange: (shown: SecretFilter) => void;
}

export function SecretFilterChoice({ label, shown, secrets, onChange }: Props) {
  const revoked = secrets.filter(({ revoked_at }) => revoked_at !== null).length;
  if (revoked === 0) return null;
  const options = [
    { value: "active" as const, label: "Active" },
    { value: "revoked" as const, label: `Revoked (${revoked})` },
  ];
  return <SegmentedChoice label={label} value={shown} options={options} onChange={onChange} />;
}

export const matchesSecretFilter = (shown: SecretFilter, { revoked_at }: { revoked_at: number | null }): boolean =>
  (revoked_at === null) === (shown === "active");
