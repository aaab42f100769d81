/** A chart's controls: compare with the previous period, show as a table, zoom, save. */
import type { ReactNode } from "react";
import { IconButton } from "../button.tsx";
import { ChartColumn, Ellipsis, History, Table2 } from "../icons.tsx";
import { Menu, MenuItem, MenuSeparator } from "../menu.tsx";
import { toastError } from "../toast.tsx";
import type { PreviousPeriod } from "./chart-data.ts";

interface Props {
  before: PreviousPeriod | undefined;
  asTable: boolean;
  tableId: string;
  onTable: () => void;
  /** Called to zoom; undefined if the chart cannot zoom. */
  onZoom?: ((by: "in" | "out" | "reset") => void) | undefined;
  zoomed: boolean;
  onSave: (as: "csv" | "svg") => Promise<void>;
}

export function ChartTools({ before, asTable, tableId, onTable, onZoom, zoomed, onSave }: Props) {
  const save = (as: "csv" | "svg") => () => void onSave(as).catch(toastError);
  return (
    <div className="-mr-1.5 ml-auto flex shrink-0">
      {before !== undefined && (
        <Tool label={`Compare with ${before.words}`} pressed={before.on} onClick={() => before.turn(!before.on)}>
          <History aria-hidden className="size-4" />
        </Tool>
      )}
      <IconButton
        label={asTable ? "Show as chart" : "Show as table"}
        aria-expanded={asTable}
        aria-controls={tableId}
        className="size-7"
        onClick={onTable}
      >
        {asTable ? <ChartColumn aria-hidden className="size-4" /> : <Table2 aria-hidden className="size-4" />}
      </IconButton>
      <Menu
        button={
          <IconButton label={onZoom === undefined ? "Save" : "Zoom and save"} className="size-7">
            <Ellipsis aria-hidden className="size-4" />
          </IconButton>
        }
      >
        {onZoom !== undefined && (
          <>
            <MenuItem onSelect={() => onZoom("in")}>Zoom in</MenuItem>
            {zoomed && <MenuItem onSelect={() => onZoom("out")}>Zoom out</MenuItem>}
            {zoomed && <MenuItem onSelect={() => onZoom("reset")}>Reset zoom</MenuItem>}
            <MenuSeparator />
          </>
        )}
        <MenuItem onSelect={save("csv")}>Save as CSV</MenuItem>
        {!asTable && <MenuItem onSelect={save("svg")}>Save as picture (SVG)</MenuItem>}
      </Menu>
    </div>
  );
}

interface ToolProps {
  label: string;
  pressed: boolean;
  onClick: () => void;
  children: ReactNode;
}

const Tool = ({ label, pressed, onClick, children }: ToolProps) => (
  <IconButton
    label={label}
    aria-pressed={pressed}
    className="size-7 aria-pressed:bg-accent-soft aria-pressed:text-accent"
    onClick={onClick}
  >
    {children}
  </IconButton>
);
