/** The menu of saved views of the request list, stored in this browser per person. */
import { useState } from "react";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog, FormActions } from "../../ui/dialog.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { Eye, Trash2 } from "../../ui/icons.tsx";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "../../ui/menu.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import type { RequestsView } from "./requests-search.ts";
import { deleteView, readViews, saveView, VIEW_NAME_CHARS_MAX } from "./saved-views.ts";

interface Props {
  person: string;
  view: RequestsView;
  onChoose: (view: RequestsView) => void;
}

const store = () => localStorage;

export function ViewsMenu({ person, view, onChoose }: Props) {
  const [views, setViews] = useState(() => readViews(store, person));
  const [open, setOpen] = useState<"save" | "delete">();
  const [error, setError] = useState<unknown>();
  const close = (): void => {
    setOpen(undefined);
    setError(undefined);
  };
  const save = (fields: FormData): void => {
    const name = readTextField(fields, "name").trim();
    try {
      setViews(saveView(store, person, { name, view }));
      close();
      toast(`Saved as ${name}`);
    } catch (problem) {
      setError(problem);
    }
  };
  const remove = (name: string): void => {
    try {
      setViews(deleteView(store, person, name));
    } catch (problem) {
      toastError(problem);
    }
  };
  return (
    <>
      <Menu
        button={
          <Button>
            <Eye aria-hidden className="size-4" />
            Views
          </Button>
        }
      >
        <MenuLabel>{views.length === 0 ? "No saved views" : "Saved in this browser"}</MenuLabel>
        {views.map(({ name, view: kept }) => (
          <MenuItem key={name} onSelect={() => onChoose(kept)}>
            <span className="max-w-60 truncate">{name}</span>
          </MenuItem>
        ))}
        <MenuSeparator />
        <MenuItem onSelect={() => setOpen("save")}>Save this view…</MenuItem>
        {views.length > 0 && <MenuItem onSelect={() => setOpen("delete")}>Delete views…</MenuItem>}
      </Menu>
      <Dialog
        open={open === "save"}
        onClose={close}
        title="Save this view"
        about="Saves the filters, the time range and the order in this browser. To share a view, copy the page's address."
      >
        <Form onSubmit={save} error={error}>
          <TextField
            label="Name"
            name="name"
            required
            // A name must contain something other than spaces.
            pattern=".*\S.*"
            maxLength={VIEW_NAME_CHARS_MAX}
            autoComplete="off"
          />
          <FormActions onCancel={close} busy={false}>
            Save view
          </FormActions>
        </Form>
      </Dialog>
      <Dialog open={open === "delete"} onClose={close} title="Delete views">
        <ul className="flex flex-col divide-y divide-line">
          {views.map(({ name }) => (
            <li key={name} className="flex items-center justify-between gap-3 py-1">
              <span className="min-w-0 truncate">{name}</span>
              <IconButton label={`Delete ${name}`} onClick={() => remove(name)}>
                <Trash2 aria-hidden className="size-4" />
              </IconButton>
            </li>
          ))}
          {views.length === 0 && <li className="py-1 text-ink-soft">No saved views</li>}
        </ul>
      </Dialog>
    </>
  );
}
