/** Radio buttons for roles, each with an explanation. */
import type { AccountKind, Role } from "../../api/answer-types.ts";
import { describeRole, ROLES } from "../../team/roles.ts";
import { joinClasses } from "../../ui/join-classes.ts";

interface Props {
  kind: AccountKind;
  role: Role;
  onChange: (role: Role) => void;
}

export const RoleChoice = ({ kind, role, onChange }: Props) => (
  <fieldset className="flex flex-col gap-2">
    <legend className="mb-1.5 font-medium">Role</legend>
    {ROLES.map((value) => (
      <label
        key={value}
        className={joinClasses(
          "flex cursor-pointer items-start gap-2.5 rounded-md border px-3 py-2 has-focus-visible:outline-2 has-focus-visible:outline-accent",
          role === value ? "border-accent bg-accent-soft/50" : "border-line hover:bg-sunken/60",
        )}
      >
        <input
          type="radio"
          name="role"
          value={value}
          checked={role === value}
          onChange={() => onChange(value)}
          className="mt-1 accent-accent"
        />
        <span>
          <span className="block font-medium">{value}</span>
          <span className="block text-xs text-ink-soft">{describeRole(value, kind)}</span>
        </span>
      </label>
    ))}
  </fieldset>
);
