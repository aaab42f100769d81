/** The menu that renames or retires a node. */

import { useState } from "react";
import type { Node } from "../../../api/answer-types.ts";
import { useRenameNode, useRetireNode } from "../../../data/host-nodes-and-tokens.ts";
import { usePermissions } from "../../../data/signed-in-session.ts";
import { IconButton } from "../../../ui/button.tsx";
import { ConfirmDialog } from "../../../ui/dialog.tsx";
import { Ellipsis, Pencil, Power } from "../../../ui/icons.tsx";
import { Menu, MenuItem } from "../../../ui/menu.tsx";
import { RenameDialog } from "../../../ui/rename-dialog.tsx";
import { toast } from "../../../ui/toast.tsx";

export function NodeMenu({ node: { id, name, state } }: { node: Node }) {
  const [open, setOpen] = useState<"rename" | "retire">();
  const rename = useRenameNode();
  const retire = useRetireNode(id);
  const close = (): void => {
    setOpen(undefined);
    rename.reset();
    retire.reset();
  };
  if (!usePermissions("host")("work")) return null;
  return (
    <>
      <Menu
        button={
          <IconButton label={`Actions for ${name}`}>
            <Ellipsis aria-hidden className="size-4" />
          </IconButton>
        }
      >
        <MenuItem onSelect={() => setOpen("rename")}>
          <Pencil aria-hidden />
          Rename
        </MenuItem>
        {state !== "retired" && (
          <MenuItem danger onSelect={() => setOpen("retire")}>
            <Power aria-hidden />
            Retire
          </MenuItem>
        )}
      </Menu>
      {open === "rename" && <RenameDialog title="Rename node" of={{ id, name }} rename={rename} onClose={close} />}
      <ConfirmDialog
        open={open === "retire"}
        onClose={close}
        title={`Retire ${name}?`}
        action="Retire node"
        busy={retire.isPending}
        error={retire.error}
        onConfirm={() =>
          retire.mutate(undefined, {
            onSuccess: () => {
              close();
              toast(`${name} is retired. Running requests complete.`);
            },
          })
        }
      >
        The node finishes its running requests and then goes offline permanently. You keep the node's earnings. This
        cannot be undone: the machine can only return as a new node with another name.
      </ConfirmDialog>
    </>
  );
}
