"""An answer in a form of your choice: python structured.py "Ada Lovelace wrote the first program in 1843."

The node's engine keeps to the schema while it writes. Where no connected node can do that for this model the answer is 503
no_capacity.
"""

import json
import os
import sys

import openai

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "year": {"type": "integer"}},
    "required": ["name", "year"],
    "additionalProperties": False,
}
SENTENCE = "Ada Lovelace wrote the first program in 1843."

try:
    answer = openai.OpenAI().chat.completions.create(
        model=os.environ.get("MODEL", "tiny-3b"),
        messages=[
            # The schema is enforced, and not shown to the model: tell it in words what you want.
            {"role": "system", "content": "Take the person's name and the year from the sentence, as JSON."},
            {"role": "user", "content": sys.argv[1] if len(sys.argv) > 1 else SENTENCE},
        ],
        response_format={"type": "json_schema", "json_schema": {"name": "event", "schema": SCHEMA, "strict": True}},
        max_tokens=200,
    )
except openai.APIStatusError as error:
    if error.code != "no_capacity":
        raise
    sys.exit("no connected node supports JSON schemas for this model: try later, or another model")

choice = answer.choices[0]
# Only an answer that ended by itself is whole: one cut by max_tokens is no JSON.
if choice.finish_reason != "stop":
    sys.exit(f"the answer was cut: {choice.finish_reason}")
event = json.loads(choice.message.content)
print(f"{event['year']}: {event['name']}")
