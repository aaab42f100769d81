/** The link from a node's page back to the list of nodes. */
import { Link } from "@tanstack/react-router";
import { ArrowLeft } from "../../ui/icons.tsx";

export const BackToNodes = () => (
  <Link to="/host" className="mb-3 inline-flex items-center gap-1.5 text-ink-soft hover:text-ink">
    <ArrowLeft aria-hidden className="size-4" />
    Nodes
  </Link>
);
