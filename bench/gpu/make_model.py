"""A Llama of random weights in the shape of a 3B or an 8B model, as a GGUF file: make_model.py TOKENIZER.json FILE [3b|8b].

Speed does not depend on the weights' values. One channel is not random: by it the model says plain words and nothing else, so that
the words of an answer are its tokens (engines/model/token-likelihoods.ts).
"""
import json
import math
import struct
import sys

import numpy as np
import torch

tokenizer = json.load(open(sys.argv[1]))
file = sys.argv[2]
size = sys.argv[3] if len(sys.argv) > 3 else "3b"
NAME = {"3b": "Llama-3.2-3B-Instruct", "8b": "Llama-3.1-8B-Instruct"}[size]
LAYERS, WIDTH, HEADS, INNER = {"3b": (28, 3072, 24, 8192), "8b": (32, 4096, 32, 14336)}[size]
KEY_VALUE_HEADS, HEAD_WIDTH = 8, 128
VOCABULARY = len(tokenizer["tokens"])
CONSTANT, LAYER = 4.0, 0.05
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
generator = torch.Generator(DEVICE)
generator.manual_seed(1)
SCALE = math.sqrt(WIDTH / (CONSTANT**2 + WIDTH - 1))


def random(rows, columns, spread):
    return torch.randn(rows, columns, generator=generator, device=DEVICE) * spread


def embedding():
    values = random(VOCABULARY, WIDTH, 1.0)
    values[:, 0] = CONSTANT
    return values


def head():
    values = random(VOCABULARY, WIDTH, 1.5 / (SCALE * math.sqrt(WIDTH - 1)))
    moved = torch.zeros(VOCABULARY, dtype=torch.bool, device=DEVICE)
    moved[torch.tensor(tokenizer["moved"], device=DEVICE)] = True
    values[~moved] = 0
    values[:, 0] = torch.tensor(tokenizer["scores"], device=DEVICE) / (CONSTANT * SCALE)
    return values


def into(columns):
    """Into the stream, beside the constant channel."""
    values = random(WIDTH, columns, LAYER / math.sqrt(columns))
    values[0] = 0
    return values


def matrix(rows, columns):
    return (rows, columns), lambda: random(rows, columns, 1 / math.sqrt(columns))


def ones():
    return (WIDTH,), lambda: torch.ones(WIDTH, device=DEVICE)


tensors = [("token_embd.weight", ((VOCABULARY, WIDTH), embedding))]
for layer in range(LAYERS):
    block = f"blk.{layer}."
    queries, keys = HEADS * HEAD_WIDTH, KEY_VALUE_HEADS * HEAD_WIDTH
    tensors += [
        (block + "attn_norm.weight", ones()),
        (block + "attn_q.weight", matrix(queries, WIDTH)),
        (block + "attn_k.weight", matrix(keys, WIDTH)),
        (block + "attn_v.weight", matrix(keys, WIDTH)),
        (block + "attn_output.weight", ((WIDTH, queries), lambda: into(HEADS * HEAD_WIDTH))),
        (block + "ffn_norm.weight", ones()),
        (block + "ffn_gate.weight", matrix(INNER, WIDTH)),
        (block + "ffn_up.weight", matrix(INNER, WIDTH)),
        (block + "ffn_down.weight", ((WIDTH, INNER), lambda: into(INNER))),
    ]
tensors += [("output_norm.weight", ones()), ("output.weight", ((VOCABULARY, WIDTH), head))]

u32 = lambda value: struct.pack("<I", value)
u64 = lambda value: struct.pack("<Q", value)


def string(text):
    data = text.encode()
    return u64(len(data)) + data


whole = lambda key, value: string(key) + u32(4) + u32(value)
text = lambda key, value: string(key) + u32(8) + string(value)
number = lambda key, value: string(key) + u32(6) + struct.pack("<f", value)
array = lambda key, kind, values: string(key) + u32(9) + u32(kind) + u64(len(values)) + b"".join(values)
ids = {token: i for i, token in enumerate(tokenizer["tokens"])}
facts = [
    text("general.architecture", "llama"),
    text("general.name", NAME),
    whole("general.file_type", 1),
    whole("llama.block_count", LAYERS),
    whole("llama.context_length", 8192),
    whole("llama.embedding_length", WIDTH),
    whole("llama.feed_forward_length", INNER),
    whole("llama.attention.head_count", HEADS),
    whole("llama.attention.head_count_kv", KEY_VALUE_HEADS),
    whole("llama.attention.key_length", HEAD_WIDTH),
    whole("llama.attention.value_length", HEAD_WIDTH),
    whole("llama.rope.dimension_count", HEAD_WIDTH),
    whole("llama.vocab_size", VOCABULARY),
    number("llama.attention.layer_norm_rms_epsilon", 1e-5),
    number("llama.rope.freq_base", 500000.0),
    text("tokenizer.ggml.model", "gpt2"),
    text("tokenizer.ggml.pre", "llama-bpe"),
    array("tokenizer.ggml.tokens", 8, [string(token) for token in tokenizer["tokens"]]),
    array("tokenizer.ggml.token_type", 5, [u32(1 if i < tokenizer["specialFrom"] else 3) for i in range(VOCABULARY)]),
    array("tokenizer.ggml.merges", 8, [string(merge) for merge in tokenizer["merges"]]),
    whole("tokenizer.ggml.bos_token_id", ids["<|begin_of_text|>"]),
    whole("tokenizer.ggml.eos_token_id", ids["<|eot_id|>"]),
    text("tokenizer.chat_template", tokenizer["chatTemplate"]),
]

padding = lambda length: b"\0" * ((32 - length % 32) % 32)
infos, offset = b"", 0
for name, (shape, _) in tensors:
    infos += string(name) + u32(len(shape)) + b"".join(u64(n) for n in reversed(shape))
    infos += u32(0 if len(shape) == 1 else 1) + u64(offset)
    length = int(np.prod(shape)) * (4 if len(shape) == 1 else 2)
    offset += length + len(padding(length))
head_bytes = b"GGUF" + u32(3) + u64(len(tensors)) + u64(len(facts)) + b"".join(facts) + infos
with open(file, "wb") as out:
    out.write(head_bytes + padding(len(head_bytes)))
    for name, (shape, make) in tensors:
        values = make()
        assert tuple(values.shape) == shape, (name, values.shape)
        data = (values.float() if values.dim() == 1 else values.half()).cpu().numpy().tobytes()
        out.write(data + padding(len(data)))
print(f"{NAME}: {offset / 1e9:.1f} GB in {file}")
