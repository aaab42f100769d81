/** The filters above the audit log. Each change updates the URL at once. */

import { useState } from "react";
import type { AuditFilter } from "../../../api/answer-types.ts";
import { Button } from "../../../ui/button.tsx";
import { DateField, SelectField } from "../../../ui/form-fields.tsx";
import { SlidersHorizontal, X } from "../../../ui/icons.tsx";
import { joinClasses } from "../../../ui/join-classes.ts";
import { SearchField } from "../../../ui/search-field.tsx";
import { AUDIT_OUTCOME_NAMES } from "./audit-search.ts";
import { ACTION_NAMES, nameAction } from "./audit-sentences.ts";

interface Props {
  filter: AuditFilter;
  onChange: (filter: AuditFilter) => void;
}

const ACTIONS = [
  { value: "", label: "All actions" },
  ...ACTION_NAMES.map((value) => ({ value, label: nameAction(value) })),
];
const ENDS = [{ value: "", label: "All outcomes" }, ...AUDIT_OUTCOME_NAMES.map((value) => ({ value, label: value }))];

export function AuditFilters({ filter, onChange }: Props) {
  const [operator, setOperator] = useState(filter.operator ?? "");
  const [subject, setSubject] = useState(filter.subject ?? filter.account ?? "");
  const [unfolded, setUnfolded] = useState(false);
  const count = Object.keys(filter).length;
  const set = (name: keyof AuditFilter, value: string): void => {
    const { [name]: before = "", ...rest } = filter;
    if (value !== before) onChange(value === "" ? rest : { ...rest, [name]: value });
  };
  /** An account's ID also matches actions on the account's keys and nodes. */
  const setWhom = (value: string): void => {
    const { subject: one, account, ...rest } = filter;
    if (value === (one ?? account ?? "")) return;
    onChange(value === "" ? rest : { ...rest, [/^acc_[0-9a-z]{26}$/.test(value) ? "account" : "subject"]: value });
  };
  const clear = (): void => {
    setOperator("");
    setSubject("");
    onChange({});
  };
  return (
    <search className="border-b border-line px-4 py-3 sm:px-5">
      <Button
        look="plain"
        className="w-full md:hidden"
        aria-expanded={unfolded}
        aria-controls="audit-filters"
        onClick={() => setUnfolded(!unfolded)}
      >
        <SlidersHorizontal aria-hidden className="size-4" />
        Filters{count > 0 && ` (${count})`}
      </Button>
      <div
        id="audit-filters"
        className={joinClasses(
          "gap-2 max-md:mt-3 md:grid md:grid-cols-3 xl:grid-cols-[repeat(3,minmax(0,1fr))_auto]",
          unfolded ? "grid" : "hidden",
        )}
      >
        <SearchField
          label="Operator"
          placeholder="Operator's email"
          text={operator}
          onText={setOperator}
          onPause={(text) => set("operator", text)}
        />
        <SearchField
          label="Account or subject"
          placeholder="acc_…, key_…, node_…, pay_…"
          text={subject}
          onText={setSubject}
          onPause={setWhom}
        />
        <SelectField
          label="Action"
          hideLabel
          value={filter.action ?? ""}
          options={ACTIONS}
          onChange={({ target }) => set("action", target.value)}
        />
        <DateField label="From" value={filter.from ?? ""} onChange={({ target }) => set("from", target.value)} />
        <DateField label="To" value={filter.to ?? ""} onChange={({ target }) => set("to", target.value)} />
        <SelectField
          label="Outcome"
          hideLabel
          value={filter.outcome ?? ""}
          options={ENDS}
          onChange={({ target }) => set("outcome", target.value)}
        />
        <Button
          look="quiet"
          className="justify-self-start max-md:justify-self-stretch xl:col-start-4 xl:row-start-1"
          disabled={count === 0}
          onClick={clear}
        >
          <X aria-hidden className="size-4" />
          Clear
        </Button>
      </div>
    </search>
  );
}
