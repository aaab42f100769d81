/** A dialog that chooses the models that a node serves. The machine's inference engine must provide them. */
import { useQuery } from "@tanstack/react-query";
import type { Node, NodeModel } from "../../../api/answer-types.ts";
import { nodeModelsQuery, useElectModels } from "../../../data/host-nodes-and-tokens.ts";
import { usePayoutShare } from "../../../data/price-list.ts";
import { Dialog, FormActions } from "../../../ui/dialog.tsx";
import { Form } from "../../../ui/form.tsx";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { CountText } from "../../../ui/time-text.tsx";
import { toast } from "../../../ui/toast.tsx";

export function ChooseModelsDialog({ node: { id, name, models }, onClose }: { node: Node; onClose: () => void }) {
  const offered = useQuery(nodeModelsQuery);
  const share = usePayoutShare();
  const elect = useElectModels(id);
  const submit = (fields: FormData): void =>
    elect.mutate(fields.getAll("model").map(String), {
      onSuccess: () => {
        onClose();
        toast(`Models of ${name} updated`);
      },
    });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Choose models for ${name}`}
      about="The node receives requests for these models only. Choose models that its engine has. To list the ones that fit, run tollgate-host elect on the machine."
    >
      <Form onSubmit={submit} error={elect.error}>
        <LoadedQuery query={offered}>
          {({ data }) => (
            <fieldset className="flex flex-col">
              <legend className="sr-only">Models</legend>
              {data.map((model) => (
                <Choice key={model.model} model={model} elected={models.includes(model.model)} />
              ))}
            </fieldset>
          )}
        </LoadedQuery>
        <p className="text-xs text-ink-soft">
          Builders pay these prices per million tokens.
          {share !== undefined && ` You earn ${share}.`}
        </p>
        <FormActions onCancel={onClose} busy={elect.isPending} disabled={offered.data === undefined}>
          Save
        </FormActions>
      </Form>
    </Dialog>
  );
}

function Choice({ model, elected }: { model: NodeModel; elected: boolean }) {
  const { price_in_micro_1m: input, price_out_micro_1m: output, context_limit } = model;
  return (
    <label className="flex cursor-pointer items-start gap-3 rounded-md px-2 py-2 hover:bg-sunken">
      <input
        type="checkbox"
        name="model"
        value={model.model}
        defaultChecked={elected}
        className="mt-0.5 size-4 accent-accent"
      />
      <span className="min-w-0">
        <code className="font-mono font-medium">{model.model}</code>
        <span className="block text-xs text-ink-soft">
          {input !== null && (
            <>
              <MoneyText of={String(input)} /> in
            </>
          )}
          {output !== null && (
            <>
              , <MoneyText of={String(output)} /> out
            </>
          )}
          {context_limit !== null && (
            <>
              ; context <CountText of={context_limit} />
            </>
          )}
        </span>
      </span>
    </label>
  );
}
