/**
 * The console's icons. To add one, use its name on lucide.dev: the build inserts its shapes (console/tools/lucide-icons.ts).
 */
import { createElement, type ReactNode, type SVGProps } from "react";

export type Icon = (props: SVGProps<SVGSVGElement>) => ReactNode;

/** The build replaces calls with the icon's shapes: an element name and attributes for each. */
declare function lucide(name: string): [string, Record<string, string>][];

/** An icon without an accessible name is decoration, so it is hidden from screen readers. */
function icon(shapes: ReturnType<typeof lucide>): Icon {
  return (props) => (
    // biome-ignore lint/a11y/noSvgWithoutTitle: who gives it a meaning gives it aria-label, and it is hidden without
    <svg
      xmlns="http://www.w3.org/2000/svg"
      width="24"
      height="24"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden={props["aria-label"] === undefined ? true : undefined}
      {...props}
    >
      {shapes.map(([tag, attributes], key) => createElement(tag, { key, ...attributes }))}
    </svg>
  );
}

export const Activity = icon(lucide("activity"));
export const ArrowLeft = icon(lucide("arrow-left"));
export const ArrowUp = icon(lucide("arrow-up"));
export const Banknote = icon(lucide("banknote"));
export const Bell = icon(lucide("bell"));
export const BookOpen = icon(lucide("book-open"));
export const Boxes = icon(lucide("boxes"));
export const Brain = icon(lucide("brain"));
export const ChartColumn = icon(lucide("chart-column"));
export const ChartNoAxesCombined = icon(lucide("chart-no-axes-combined"));
export const Check = icon(lucide("check"));
export const ChevronDown = icon(lucide("chevron-down"));
export const ChevronRight = icon(lucide("chevron-right"));
export const ChevronsUpDown = icon(lucide("chevrons-up-down"));
export const CircleAlert = icon(lucide("circle-alert"));
export const CircleCheck = icon(lucide("circle-check"));
export const CloudOff = icon(lucide("cloud-off"));
export const Code = icon(lucide("code"));
export const Copy = icon(lucide("copy"));
export const Cpu = icon(lucide("cpu"));
export const CreditCard = icon(lucide("credit-card"));
export const Download = icon(lucide("download"));
export const Ellipsis = icon(lucide("ellipsis"));
export const Eraser = icon(lucide("eraser"));
export const Eye = icon(lucide("eye"));
export const EyeOff = icon(lucide("eye-off"));
export const FileCheck = icon(lucide("file-check"));
export const Gauge = icon(lucide("gauge"));
export const HandCoins = icon(lucide("hand-coins"));
export const History = icon(lucide("history"));
export const ImageOff = icon(lucide("image-off"));
export const Info = icon(lucide("info"));
export const KeyRound = icon(lucide("key-round"));
export const ListChecks = icon(lucide("list-checks"));
export const LoaderCircle = icon(lucide("loader-circle"));
export const LogOut = icon(lucide("log-out"));
export const Menu = icon(lucide("menu"));
export const MessageSquare = icon(lucide("message-square"));
export const Monitor = icon(lucide("monitor"));
export const Moon = icon(lucide("moon"));
export const Network = icon(lucide("network"));
export const Pause = icon(lucide("pause"));
export const Pencil = icon(lucide("pencil"));
export const Play = icon(lucide("play"));
export const Plus = icon(lucide("plus"));
export const Power = icon(lucide("power"));
export const Receipt = icon(lucide("receipt"));
export const ReceiptText = icon(lucide("receipt-text"));
export const RefreshCw = icon(lucide("refresh-cw"));
export const RotateCcw = icon(lucide("rotate-ccw"));
export const Scale = icon(lucide("scale"));
export const ScrollText = icon(lucide("scroll-text"));
export const Search = icon(lucide("search"));
export const ServerCog = icon(lucide("server-cog"));
export const Settings = icon(lucide("settings"));
export const SlidersHorizontal = icon(lucide("sliders-horizontal"));
export const Square = icon(lucide("square"));
export const Sun = icon(lucide("sun"));
export const Table2 = icon(lucide("table-2"));
export const Ticket = icon(lucide("ticket"));
export const Timer = icon(lucide("timer"));
export const Trash2 = icon(lucide("trash-2"));
export const TriangleAlert = icon(lucide("triangle-alert"));
export const UserCog = icon(lucide("user-cog"));
export const UserMinus = icon(lucide("user-minus"));
export const UserPlus = icon(lucide("user-plus"));
export const Users = icon(lucide("users"));
export const UsersRound = icon(lucide("users-round"));
export const X = icon(lucide("x"));
