"""Times a Llama-shaped model of random weights in Transformers with posenc, sdpa and eager attention, in turns.

    PYTHONPATH=<build>/python python3 bench/transformers_speed.py [--threads N] [--type float32|bfloat16] [--tokens N ...]
                                                                   [--seconds S] [--rounds N] [--layers N]
                                                                   [--cache dynamic|static] [--without-prefill]

One step of decode at each number of tokens in the cache, and a prefill of 1024 tokens: milliseconds of a step, of the
attention calls in it, and tokens per second; medians of rounds in which the implementations take turns, for S seconds and
at least N rounds. Then the overhead of the adapter: a call with one key.

A CPU without instructions for bfloat16 takes half a minute for two layers of a prefill in it, mostly for products with
weights: --type bfloat16 --tokens --layers 1 --rounds 1.
"""
import argparse
import statistics
import time

import torch
from transformers import AttentionInterface, DynamicCache, LlamaConfig, LlamaForCausalLM, StaticCache
from transformers.models.llama import modeling_llama

import posenc
import posenc.transformers

WAYS = 'posenc', 'sdpa', 'eager'
PREFILL = 1024


class Clock:
    """Time spent inside attention."""
    seconds = 0.0


def timed(function):
    def call(*args, **given):
        start = time.perf_counter()
        result = function(*args, **given)
        Clock.seconds += time.perf_counter() - start
        return result
    return call


def make(layers, kind):
    config = LlamaConfig(hidden_size=2048, intermediate_size=4096, num_hidden_layers=layers, num_attention_heads=32,
                         num_key_value_heads=8, head_dim=128, vocab_size=1000, max_position_embeddings=32768)
    torch.manual_seed(0)
    return LlamaForCausalLM(config).to(kind).eval()


def filled(model, n_tokens, is_static):
    """A cache that holds random keys and values."""
    config, kind = model.config, model.dtype
    cache = StaticCache(config=config, max_cache_len=n_tokens + 8) if is_static else DynamicCache()
    for layer in range(config.num_hidden_layers):
        k, v = (torch.randn(1, config.num_key_value_heads, n_tokens, config.head_dim).to(kind) for _ in range(2))
        cache.update(k, v, layer)
    return cache


def step(model, way, ids, cache, n_tokens):
    """Seconds of a forward call, and of attention in it."""
    model.config._attn_implementation = way
    Clock.seconds = 0.0
    start = time.perf_counter()
    model(ids, past_key_values=cache, use_cache=cache is not None)
    seconds = time.perf_counter() - start
    if cache is not None:
        shorten(cache, n_tokens)
    return seconds, Clock.seconds


def shorten(cache, n_tokens):
    for layer in cache.layers:
        if hasattr(layer, 'max_cache_len'):
            layer.cumulative_length.fill_(n_tokens)
        else:
            layer.keys, layer.values = layer.keys[:, :, :n_tokens], layer.values[:, :, :n_tokens]


def measure(model, n_tokens, is_static, seconds, rounds):
    """(whole, attention) of each way, in milliseconds. n_tokens None: the prefill."""
    ids = torch.ones(1, 1 if n_tokens else PREFILL, dtype=torch.int64)
    cache = filled(model, n_tokens, is_static) if n_tokens else None
    times = {way: [] for way in WAYS}
    for way in WAYS:
        step(model, way, ids[:, :8], cache, n_tokens)
    end = time.perf_counter() + seconds
    while len(times['eager']) < rounds or time.perf_counter() < end:
        for way in WAYS:
            if n_tokens:
                step(model, way, ids, cache, n_tokens)  # caches and memory after another way
            times[way].append(step(model, way, ids, cache, n_tokens))
    return {way: [1e3 * statistics.median(column) for column in zip(*rows)] for way, rows in times.items()}


def number(x):
    return f'{x:.0f}' if x >= 100 else f'{x:.3g}'


def cell(step_ms, attention_ms, n_tokens):
    return f'{number(step_ms)} ({number(attention_ms)}), {number(n_tokens / step_ms * 1e3)}/s'


def least(call, calls=300, rounds=30):
    """Microseconds of a call, the least of some rounds."""
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        found.append((time.perf_counter() - start) / calls * 1e6)
    return min(found)


def overhead():
    """Microseconds that a layer takes beyond the library's call on NumPy arrays: with one key and one head."""
    module = torch.nn.Module()
    module.is_causal = True
    q, k, v = (torch.randn(1, 1, 1, 128) for _ in range(3))
    mask, out = posenc.transformers.build_mask(1, 1, 1), torch.empty(1, 1, 1, 128).numpy()
    arrays = [x.numpy() for x in (q, k, v)]
    whole = least(lambda: posenc.transformers.attention(module, q, k, v, mask, dropout=0.0, scaling=0.1, position_ids=None))
    return whole - least(lambda: posenc.attention(*arrays, out=out, heads_first=True, scale=0.1, **mask.given))


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--type', default='float32')
    parser.add_argument('--tokens', type=int, nargs='*', default=[512, 4096, 16384])
    parser.add_argument('--seconds', type=float, default=4.0)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--layers', type=int, default=2)
    parser.add_argument('--cache', default='dynamic')
    parser.add_argument('--without-prefill', action='store_true')
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    posenc.transformers.register()
    AttentionInterface.register('posenc', timed(posenc.transformers.attention))
    AttentionInterface.register('sdpa', timed(AttentionInterface._global_mapping['sdpa']))
    modeling_llama.eager_attention_forward = timed(modeling_llama.eager_attention_forward)
    model = make(options.layers, getattr(torch, options.type))
    print(f'{options.layers} layers of 32/8 heads of 128, {options.cache} cache; PyTorch {torch.__version__}. Milliseconds of a '
          "step (of attention in it), tokens a second; sdpa's time over posenc's")
    print(f'| threads | type, tokens | {" | ".join(WAYS)} | step | attention |\n' + '|---' * (4 + len(WAYS)) + '|')
    for n_tokens in [*options.tokens, *[None] * (not options.without_prefill)]:
        found = measure(model, n_tokens, options.cache == 'static', options.seconds, options.rounds)
        what = f'{options.type}, {n_tokens or f"prefill of {PREFILL}"}'
        cells = [cell(*found[way], 1 if n_tokens else PREFILL) for way in WAYS]
        ratios = [f'{b / a:.2f}' for a, b in zip(found['posenc'], found['sdpa'])]
        print('| ' + ' | '.join([str(options.threads), what, *cells, *ratios]) + ' |', flush=True)
    print(f'overhead of the adapter: {overhead():.1f} microseconds a layer')


if __name__ == '__main__':
    main()
