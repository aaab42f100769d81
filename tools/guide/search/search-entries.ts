/** Builds the search index: an entry for each heading of the guide, and one for every API operation. */
import { type Document, listOperations, type Schema } from "@tollgate/api/openapi/openapi-types.ts";
import { type ApiDocument, DOCUMENTS } from "../../../gateway/src/site/reference/api-documents.ts";
import type { Html } from "../../../gateway/src/site/reference/html-template.ts";
import { ADDRESS_PLACEHOLDER } from "../../../gateway/src/site/reference/page-frame.ts";
import { LOCAL_ADDRESS } from "../highlight.ts";
import { buildGuideUrl } from "../navigation.ts";
import type { GuidePage } from "../pages.ts";
import { listFields } from "../reference/fields-list.ts";
import type { SearchEntry } from "./search-query.ts";

/**
 * How many characters of an example file are indexed in addition to its path. Whole files would make up half of the
 * index.
 */
const SOURCE_CHARS = 300;
const HEADING = /<h[1-6] id="([^"]*)">([\s\S]*?)<\/h[1-6]>/;

export function indexPage(page: GuidePage, body: Html): SearchEntry[] {
  const isSource = !page.file.endsWith(".md");
  const isMinor = isSource || page.file === "CHANGELOG.md";
  // Splitting by a pattern with two groups yields repeated groups of three: anchor, heading, text.
  const [, ...parts] = body.text.split(HEADING);
  return Array.from({ length: parts.length / 3 }, (_, i) => {
    const [anchor = "", heading = "", text = ""] = parts.slice(3 * i, 3 * i + 3);
    return {
      url: i === 0 ? buildGuideUrl(page) : `${buildGuideUrl(page)}#${anchor}`,
      heading: plain(heading),
      place: i === 0 ? page.section : `${page.section} / ${page.name}`,
      text: plain(text.replaceAll(/<figcaption>[\s\S]*?<\/figcaption>/g, "")).slice(
        0,
        isSource ? SOURCE_CHARS : undefined,
      ),
      ...(isMinor && { minor: true as const }),
    };
  });
}

export function indexApi(api: ApiDocument, document: Document): SearchEntry[] {
  const isInternal = api !== DOCUMENTS[0];
  return listOperations(document).map(({ method, path, operation }) => {
    const request = operation.requestBody?.content["application/json"];
    const fields =
      request === undefined ? [] : listFields(document, request.schema as Schema).map((field) => field.path);
    const text = [operation.description ?? "", fields.join(" ")].join(" ");
    return {
      url: `${api.pageUrl}#${operation.operationId}`,
      heading: operation.summary,
      place: `${isInternal ? api.name : "API reference"} / ${method.toUpperCase()} ${path}`,
      text: oneLine(text.replaceAll("`", "")),
      ...(isInternal && { minor: true as const }),
    };
  });
}

const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"' };

/** Returns the text of the guide's HTML. A tag counts as a space only at the end of a line or a cell. */
function plain(text: string): string {
  const bare = text.replaceAll(/<\/(p|li|td|th|tr|pre|div|h\d)>|<br>/g, " ").replaceAll(/<[^>]*>/g, "");
  const decoded = bare.replaceAll(/&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal));
  });
  return oneLine(decoded.replaceAll(ADDRESS_PLACEHOLDER, LOCAL_ADDRESS));
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();
