/** Saves, chooses, renames and deletes presets (named settings) in this browser. */

import { useState } from "react";
import { errorMessage } from "../../api/api-fault.ts";
import { IconButton } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog, FormActions } from "../../ui/dialog.tsx";
import { Form, FormProblem, readTextField } from "../../ui/form.tsx";
import { SelectField, TextField } from "../../ui/form-fields.tsx";
import { Ellipsis } from "../../ui/icons.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import type { PlaygroundSettings } from "./playground-settings.ts";
import { PRESET_NAME_CHARS_MAX, type Preset, readPresets, writePresets } from "./presets.ts";

interface Props {
  person: string;
  settings: PlaygroundSettings;
  onChoose: (settings: PlaygroundSettings) => void;
}

const NONE = "";
const store = () => localStorage;

export function PresetsBar({ person, settings, onChoose }: Props) {
  const [{ presets, problem }, setRead] = useState(() => read(person));
  const [chosenId, setChosenId] = useState(
    () => presets.find((preset) => isSame(preset.settings, settings))?.id ?? NONE,
  );
  const [open, setOpen] = useState<"save" | "rename" | "delete">();
  const chosen = presets.find(({ id }) => id === chosenId);
  /** Throws an error if the browser refuses to store the presets. */
  const write = (next: Preset[]): void => {
    writePresets(store, person, next);
    setRead({ presets: next, problem: undefined });
  };
  const replace = (one: Preset): void => write(presets.map((preset) => (preset.id === one.id ? one : preset)));
  const close = (): void => setOpen(undefined);
  const save = (name: string): void => {
    const preset = { id: crypto.randomUUID(), name, settings };
    write([...presets, preset]);
    setChosenId(preset.id);
    toast(`Saved as ${name}`);
  };
  return (
    <div>
      <div className="flex items-end gap-2">
        <SelectField
          label="Preset"
          className="min-w-0 flex-1"
          value={chosenId}
          options={[
            { value: NONE, label: presets.length === 0 ? "None saved yet" : "None" },
            ...presets.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          onChange={({ target }) => {
            setChosenId(target.value);
            const next = presets.find(({ id }) => id === target.value);
            if (next !== undefined) onChoose(next.settings);
          }}
        />
        <Menu
          button={
            <IconButton label="Preset actions" className="size-9 border border-line">
              <Ellipsis aria-hidden className="size-4" />
            </IconButton>
          }
        >
          <MenuItem onSelect={() => setOpen("save")}>Save as new preset</MenuItem>
          {chosen !== undefined && (
            <>
              <MenuItem onSelect={() => attempt(() => replace({ ...chosen, settings }), `Saved ${chosen.name}`)}>
                Save changes
              </MenuItem>
              <MenuItem onSelect={() => setOpen("rename")}>Rename</MenuItem>
              <MenuItem danger onSelect={() => setOpen("delete")}>
                Delete
              </MenuItem>
            </>
          )}
        </Menu>
      </div>
      {problem !== undefined && (
        <div role="alert" className="mt-2">
          <FormProblem>{problem}</FormProblem>
        </div>
      )}
      {open === "save" && <NameDialog title="Save as new preset" action="Save" onName={save} onClose={close} />}
      {open === "rename" && chosen !== undefined && (
        <NameDialog
          title="Rename preset"
          action="Rename"
          name={chosen.name}
          onName={(name) => replace({ ...chosen, name })}
          onClose={close}
        />
      )}
      <ConfirmDialog
        open={open === "delete" && chosen !== undefined}
        onClose={close}
        title={`Delete ${chosen?.name}?`}
        action="Delete preset"
        onConfirm={() => {
          attempt(() => write(presets.filter(({ id }) => id !== chosenId)), "Preset deleted");
          setChosenId(NONE);
          close();
        }}
      >
        The preset exists only in this browser. You cannot undo the deletion.
      </ConfirmDialog>
    </div>
  );
}

interface NameProps {
  title: string;
  action: string;
  name?: string;
  /** Throws an error with a message if the name is invalid. */
  onName: (name: string) => void;
  onClose: () => void;
}

function NameDialog({ title, action, name = "", onName, onClose }: NameProps) {
  const [error, setError] = useState<unknown>();
  const submit = (fields: FormData): void => {
    try {
      onName(readTextField(fields, "name").trim());
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      about="Saves the models, system message and parameters in this browser. The conversation is not included."
    >
      <Form onSubmit={submit} error={error}>
        <TextField
          label="Name"
          name="name"
          required
          // A name must contain something other than spaces.
          pattern=".*\S.*"
          maxLength={PRESET_NAME_CHARS_MAX}
          autoComplete="off"
          defaultValue={name}
        />
        <FormActions onCancel={onClose} busy={false}>
          {action}
        </FormActions>
      </Form>
    </Dialog>
  );
}

function attempt(change: () => void, done: string): void {
  try {
    change();
    toast(done);
  } catch (error) {
    toastError(error);
  }
}

function read(person: string): { presets: Preset[]; problem: string | undefined } {
  try {
    return { presets: readPresets(store, person), problem: undefined };
  } catch (error) {
    return { presets: [], problem: errorMessage(error) };
  }
}

const isSame = (one: PlaygroundSettings, other: PlaygroundSettings): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
