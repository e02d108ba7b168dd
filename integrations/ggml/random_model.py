#!/usr/bin/env python3
"""Writes a GGUF file of llama's architecture with random weights, for llama-bench: attention as in Llama 3.1 8B (32 heads, 8
of keys and values, 128 channels), narrow elsewhere, so that attention shows in the times. usage: random_model.py FILE"""
import random
import struct
import sys

WIDTH, INNER, LAYERS, VOCABULARY, CONTEXT = 1024, 2048, 2, 512, 32768
HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128
ALIGNMENT = 32
# GGUF's numbers of types: of values, and of tensors.
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9
F32, F16 = 0, 1
# Kinds of tokens: of words, unknown, of control, of bytes.
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6

# As SentencePiece has it: three tokens of its own, the bytes, and words.
TOKENS = {'<unk>': UNKNOWN, '<s>': CONTROL, '</s>': CONTROL} | {f'<0x{byte:02X}>': BYTE for byte in range(256)}
TOKENS |= {f'\u2581w{number}': NORMAL for number in range(VOCABULARY - len(TOKENS))}

FIELDS = {
    'general.architecture': 'llama',
    'general.name': 'random',
    'tokenizer.ggml.model': 'llama',
    'tokenizer.ggml.tokens': (STRING, list(TOKENS)),
    'tokenizer.ggml.scores': (FLOAT32, [0.0] * VOCABULARY),
    'tokenizer.ggml.token_type': (INT32, list(TOKENS.values())),
    'tokenizer.ggml.bos_token_id': 1,
    'tokenizer.ggml.eos_token_id': 2,
    'tokenizer.ggml.unknown_token_id': 0,
    'llama.attention.layer_norm_rms_epsilon': 1e-5,
    'llama.rope.freq_base': 500000.0,
    'llama.vocab_size': VOCABULARY,
    'llama.context_length': CONTEXT,
    'llama.embedding_length': WIDTH,
    'llama.block_count': LAYERS,
    'llama.feed_forward_length': INNER,
    'llama.attention.head_count': HEADS,
    'llama.attention.head_count_kv': KV_HEADS,
    'llama.attention.key_length': HEAD_DIM,
    'llama.attention.value_length': HEAD_DIM,
    'llama.rope.dimension_count': HEAD_DIM,
}


def tensors():
    """{name: extents}: matrices [in, out] of f16, and norms [n] of f32."""
    found = {'token_embd.weight': (WIDTH, VOCABULARY), 'output_norm.weight': (WIDTH,), 'output.weight': (WIDTH, VOCABULARY)}
    layer = {'attn_q': (WIDTH, HEADS * HEAD_DIM), 'attn_k': (WIDTH, KV_HEADS * HEAD_DIM),
             'attn_v': (WIDTH, KV_HEADS * HEAD_DIM), 'attn_output': (HEADS * HEAD_DIM, WIDTH), 'ffn_gate': (WIDTH, INNER),
             'ffn_up': (WIDTH, INNER), 'ffn_down': (INNER, WIDTH), 'attn_norm': (WIDTH,), 'ffn_norm': (WIDTH,)}
    for number in range(LAYERS):
        found |= {f'blk.{number}.{name}.weight': extents for name, extents in layer.items()}
    return found


def string(text):
    return struct.pack('<Q', len(text.encode())) + text.encode()


def value_of(kind, value):
    return string(value) if kind == STRING else struct.pack({UINT32: '<I', INT32: '<i', FLOAT32: '<f'}[kind], value)


def field(key, value):
    if isinstance(value, tuple):
        kind, items = value
        return string(key) + struct.pack('<IIQ', ARRAY, kind, len(items)) + b''.join(value_of(kind, item) for item in items)
    kind = {str: STRING, int: UINT32, float: FLOAT32}[type(value)]
    return string(key) + struct.pack('<I', kind) + value_of(kind, value)


def data(extents, numbers):
    """Ones for a norm; weights of up to 0.05 for a matrix."""
    if len(extents) == 1:
        return struct.pack(f'<{extents[0]}f', *[1.0] * extents[0])
    rows = [numbers.choices(WEIGHTS, k=extents[0]) for _ in range(16)] # drawn once, repeated in another order
    packed = [struct.pack(f'<{extents[0]}e', *row) for row in rows]
    return b''.join(numbers.choices(packed, k=extents[1]))


WEIGHTS = [i / 1000 for i in range(-50, 51)]


def main(path):
    numbers = random.Random(1)
    blocks, infos, offset = [], b'', 0
    for name, extents in tensors().items():
        infos += string(name) + struct.pack(f'<I{len(extents)}QIQ', len(extents), *extents,
                                            F32 if len(extents) == 1 else F16, offset)
        blocks.append(data(extents, numbers))
        blocks[-1] += bytes(-len(blocks[-1]) % ALIGNMENT)
        offset += len(blocks[-1])
    head = b'GGUF' + struct.pack('<IQQ', 3, len(blocks), len(FIELDS)) + b''.join(map(field, FIELDS, FIELDS.values())) + infos
    with open(path, 'wb') as file:
        file.write(head + bytes(-len(head) % ALIGNMENT))
        file.writelines(blocks)


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(sys.argv[1])
