/**
 * The fields for the answer's output format. Formats other than text are offered only if a connected node of each
 * chosen model supports them.
 */
import { SelectField, TextArea, TextField } from "../../ui/form-fields.tsx";
import type { PlaygroundSettings, RequestParameters } from "./playground-settings.ts";

interface Props {
  settings: PlaygroundSettings;
  problems: RequestParameters["problems"];
  /** The models without a node that supports output formats; undefined until loaded. */
  unable: string[] | undefined;
  onChange: (change: Partial<PlaygroundSettings>) => void;
}

const FORMS = [
  { value: "text", label: "Text" },
  { value: "json_object", label: "JSON object" },
  { value: "json_schema", label: "JSON schema" },
];
const EXAMPLE = `{
  "type": "object",
  "properties": { "name": { "type": "string" } },
  "required": ["name"],
  "additionalProperties": false
}`;

export function FormatFields({ settings, problems, unable, onChange }: Props) {
  const { format, schemaName, schema } = settings;
  const offered = unable?.length === 0;
  return (
    <>
      <SelectField
        label="Output format"
        value={format}
        options={FORMS.filter(({ value }) => offered || value === "text" || value === format)}
        hint={unable === undefined || offered ? undefined : `Text only: ${describeUnsupportedFormat(unable)}`}
        error={problems.format}
        onChange={({ target }) => onChange({ format: target.value as PlaygroundSettings["format"] })}
      />
      {format === "json_schema" && (
        <>
          <TextField
            label="Schema name"
            autoComplete="off"
            value={schemaName}
            error={problems.schemaName}
            onChange={({ target }) => onChange({ schemaName: target.value })}
          />
          <TextArea
            label="JSON schema"
            className="[&_textarea]:font-mono [&_textarea]:text-xs"
            rows={8}
            spellCheck={false}
            placeholder={EXAMPLE}
            value={schema}
            error={problems.schema}
            hint="The model does not see the schema. Describe the output you want in your message."
            onChange={({ target }) => onChange({ schema: target.value })}
          />
        </>
      )}
    </>
  );
}

export const describeUnsupportedFormat = (unable: string[]): string =>
  `no online node that serves ${unable.join(" or ")} supports JSON output.`;
