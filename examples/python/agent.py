"""A small agent: python agent.py FOLDER "What do the notes say about foxes?"

This service returns no tool calls, so the model says in JSON what it wants to do (structured output), the program does it,
and tells it the result in the next message.
"""

import json
import os
import sys
from pathlib import Path

from openai import OpenAI

STEPS_MAX = 8
RESULT_CHARS_MAX = 4_000

if len(sys.argv) != 3:
    sys.exit('usage: python agent.py FOLDER "GOAL"')
folder, goal = Path(sys.argv[1]), sys.argv[2]

ACTIONS = {
    "list": lambda _: "\n".join(sorted(path.name for path in folder.iterdir())),
    # A name and no path: nothing outside the folder can be read, whatever the model asks for.
    "read": lambda name: (folder / Path(name).name).read_text(encoding="utf-8")[:RESULT_CHARS_MAX],
}
SCHEMA = {
    "type": "object",
    "properties": {"action": {"enum": [*ACTIONS, "answer"]}, "argument": {"type": "string"}},
    "required": ["action", "argument"],
    "additionalProperties": False,
}
RULES = """You work in steps. In each you answer one JSON object and nothing else:
{"action": "list", "argument": ""} names the files, {"action": "read", "argument": "NAME"} shows one,
{"action": "answer", "argument": "TEXT"} ends the work. The result of an action is the next message."""


def parse_action(text):
    """The action and its argument; a ValueError says what is wrong, to be told to the model.

    An answer can be cut, and whose engine it was is unknown.
    """
    try:
        said = json.loads(text)
    except json.JSONDecodeError:
        raise ValueError("that was not one JSON object") from None
    if isinstance(said, dict) and isinstance(said.get("argument"), str) and said.get("action") in [*ACTIONS, "answer"]:
        return said["action"], said["argument"]
    raise ValueError(f"action must be one of {', '.join([*ACTIONS, 'answer'])}, and argument a string")


client = OpenAI()
messages = [{"role": "system", "content": RULES}, {"role": "user", "content": goal}]
for step in range(1, STEPS_MAX + 1):
    answer = client.chat.completions.create(
        model=os.environ.get("MODEL", "tiny-3b"),
        messages=messages,
        max_tokens=500,
        # The node's engine keeps to the form. What it means, the rules above have to say.
        response_format={"type": "json_schema", "json_schema": {"name": "action", "schema": SCHEMA, "strict": True}},
    )
    said = answer.choices[0].message.content
    messages.append({"role": "assistant", "content": said})
    try:
        action, argument = parse_action(said)
        print(f"{step}. {action} {argument}", file=sys.stderr)
        if action == "answer":
            print(argument)
            sys.exit()
        result = ACTIONS[action](argument)
    except (ValueError, OSError) as error:
        print(f"{step}. {error}", file=sys.stderr)
        result = f"that failed: {error}"
    messages.append({"role": "user", "content": result})
sys.exit(f"no answer after {STEPS_MAX} steps")
