/** The last verdict on the books, and the way to a new one. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { booksQuery } from "../../../data/platform.ts";
import { buttonClasses } from "../../../ui/button.tsx";
import { Notice } from "../../../ui/notice.tsx";
import { Time } from "../../../ui/time.tsx";

export function BooksLine() {
  // Not asked for by this page: the check reads all of the books.
  const { data } = useQuery({ ...booksQuery, enabled: false });
  const open = (
    <Link to="/operator/books" className={buttonClasses("plain", "small")}>
      {data === undefined ? "Check the books" : "See the checks"}
    </Link>
  );
  if (data === undefined)
    return <Notice tone="neutral" title="The books were not checked in this visit" action={open} />;
  return (
    <Notice
      tone={data.balanced ? "good" : "bad"}
      title={data.balanced ? "The books balance" : "The books do not balance"}
      action={open}
    >
      <p className="text-ink-soft">
        Checked <Time at={data.checkedAt} as="ago" />
      </p>
    </Notice>
  );
}
