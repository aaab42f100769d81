/** Incidents as on the public status page, with a form for a public note. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Incident } from "../../../api/answer-types.ts";
import { incidentsQuery, usePublishIncidentUpdate } from "../../../data/platform-overview.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { Card } from "../../../ui/card.tsx";
import { Dialog, FormActions } from "../../../ui/dialog.tsx";
import { Form, readTextField } from "../../../ui/form.tsx";
import { findFieldError, TextArea } from "../../../ui/form-fields.tsx";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { TimeText } from "../../../ui/time-text.tsx";
import { toast } from "../../../ui/toast.tsx";
import { formatIncidentTitle, shownIncidents } from "./incident-titles.ts";

export function IncidentsCard() {
  const query = useQuery(incidentsQuery);
  const [isAll, setAll] = useState(false);
  return (
    <Card
      title="Incidents"
      flush
      aside={
        query.data?.is_public === true && (
          <a href="/status" className="text-accent underline-offset-2 hover:underline">
            Status page
          </a>
        )
      }
    >
      <LoadedQuery query={query}>
        {({ data }) => {
          const shown = isAll ? data : shownIncidents(data);
          return (
            <>
              {data.length === 0 && (
                <p className="px-4 pb-4 text-ink-soft sm:px-5">No incidents in the last 90 days.</p>
              )}
              {data.length > 0 && (
                <ul aria-label="Incidents" className="border-t border-line">
                  {shown.map((incident) => (
                    <Line key={incident.id} incident={incident} />
                  ))}
                </ul>
              )}
              {shown.length < data.length && (
                <p className="px-4 py-3 sm:px-5">
                  <Button size="small" onClick={() => setAll(true)}>{`Show all ${data.length}`}</Button>
                </p>
              )}
            </>
          );
        }}
      </LoadedQuery>
    </Card>
  );
}

function Line({ incident }: { incident: Incident }) {
  const { id, state, from, to, updates } = incident;
  const [isOpen, setOpen] = useState(false);
  const title = formatIncidentTitle(incident);
  return (
    <li className="flex flex-wrap items-start gap-x-6 gap-y-2 border-b border-line px-4 py-3 last:border-b-0 sm:px-5">
      <div className="min-w-0 flex-1 basis-72">
        <p className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5">
          <Badge tone={to !== null ? "neutral" : state === "down" ? "bad" : "warn"}>
            {to === null ? state : "ended"}
          </Badge>
          <span className="min-w-0 font-medium wrap-anywhere">{title}</span>
        </p>
        <p className="mt-0.5 text-xs text-ink-soft">
          <TimeText at={from} as="full" /> to {to === null ? "now" : <TimeText at={to} as="full" />}
        </p>
        {updates.length > 0 && (
          <ol aria-label="Updates" className="mt-1.5 flex flex-col gap-1">
            {updates.map(({ at, text }) => (
              <li key={`${at} ${text}`} className="wrap-anywhere">
                <span className="text-xs text-ink-soft">
                  <TimeText at={at} />
                </span>{" "}
                {text}
              </li>
            ))}
          </ol>
        )}
      </div>
      <Button size="small" onClick={() => setOpen(true)}>
        Post an update<span className="sr-only"> on {title}</span>
      </Button>
      {isOpen && <PostDialog id={id} title={title} onClose={() => setOpen(false)} />}
    </li>
  );
}

function PostDialog({ id, title, onClose }: { id: string; title: string; onClose: () => void }) {
  const post = usePublishIncidentUpdate(id);
  const submit = (fields: FormData): void =>
    post.mutate(readTextField(fields, "text"), {
      onSuccess: () => {
        onClose();
        toast("Update posted");
      },
    });
  return (
    <Dialog open onClose={onClose} title="Post an update" about={title}>
      <Form onSubmit={submit} error={post.error} fields={["text"]}>
        <TextArea
          label="Text on the status page"
          name="text"
          required
          rows={4}
          maxLength={500}
          hint="Shown on the status page and in the audit log. It cannot be changed afterwards."
          error={findFieldError(post.error, "text")}
        />
        <FormActions onCancel={onClose} busy={post.isPending}>
          Post
        </FormActions>
      </Form>
    </Dialog>
  );
}
