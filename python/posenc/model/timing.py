"""A model's positional work, verified against scalar and timed on every tier that runs here."""
from .. import isa, isa_select
from .work import AlibiLayer, RopeLayer, medians

_LONGEST_DECODE = 512 # positions before the token that is decoded


def _scalar_first(tiers):
    """Scalar is what the others are compared with, and is timed in any case."""
    return ['scalar', *(tier for tier in tiers if tier != 'scalar')]


def verify(layers, tiers):
    """For each tier whether its bits are those of scalar, for every layer: {tier: bool}."""
    expected, same = {}, {}
    for tier in _scalar_first(tiers):
        isa_select(tier)
        found = {key: layer.results() for key, layer in layers.items()}
        if tier == 'scalar':
            expected = found
        else:
            same[tier] = found == expected
    return same


def _on(tier, run):
    def timed():
        isa_select(tier)
        run()
    return timed


def time_layers(layers, tiers, seconds):
    """Seconds per token: {(batch, type): {tier: {'first': s, 'later': s}, 'limit': {'later': s}}}."""
    runs, keys = [], []
    for key, layer in layers.items():
        for tier in _scalar_first(tiers):
            runs += [_on(tier, run) for run in layer.ways.values()]
            keys += [(key, tier, way, layer.n_tokens) for way in layer.ways]
        runs.append(layer.negate)
        keys.append((key, 'limit', 'later', layer.n_tokens))
    found = {}
    for (key, tier, way, n_tokens), median in zip(keys, medians(runs, seconds)):
        found.setdefault(key, {}).setdefault(tier, {})[way] = median / n_tokens
    return found


def layers_of(model, n_tokens):
    """{(batch, type): Layer}, for one token after those of the context, and for n_tokens."""
    cached = min(model.max_position or _LONGEST_DECODE, _LONGEST_DECODE) - 1
    batches = ('decode', 1, cached), ('prefill', n_tokens, 0)
    if model.positions == 'alibi':
        return {(batch, 'float32'): AlibiLayer(model, n, before) for batch, n, before in batches}
    return {(batch, type_): RopeLayer(model.main_table(), type_, n, before)
            for batch, n, before in batches for type_ in ('float32', 'float16')}


def measure(model, n_tokens, tiers, seconds):
    """(same, times), as above; the tier in use stays what it was."""
    in_use = isa()
    try:
        layers = layers_of(model, n_tokens)
        return verify(layers, tiers), time_layers(layers, tiers, seconds)
    finally:
        isa_select(in_use)


# ---- As text ----


def _ratio(value):
    return f'{value:.2f}x' if value < 10 else f'{value:.0f}x'


def _types(times):
    return list(dict.fromkeys(type_ for _, type_ in times))


def _row(times, tier, type_):
    cells = []
    for batch in ('decode', 'prefill'):
        of_batch = times[batch, type_]
        own = of_batch[tier]
        cells.append(f'{own["first"] * 1e9:10.0f}{own["later"] * 1e9:9.0f}' if 'first' in own else
                     f'{"":10}{own["later"] * 1e9:9.0f}')
        ratios = ('', '') if tier == 'limit' else (_ratio(of_batch['scalar']['later'] / own['later']),
                                                  _ratio(own['later'] / of_batch['limit']['later']))
        cells.append(f'{ratios[0]:>10}{ratios[1]:>10}')
    return f'  {tier if type_ == _types(times)[0] else "":9}{type_:9}{"".join(cells)}'.rstrip()


def _all_layers(model, times, tier):
    n_lists = sum(not table.is_alternative for table in model.tables)
    layers = model.rotated_layers()
    lines = [f'  All {layers} layers{" with RoPE" if layers < model.n_layers else ""} on {tier}, {n_lists} '
             f'table{"" if n_lists == 1 else "s"} of cosines and sines, microseconds per token:']
    for batch in ('decode', 'prefill'):
        spent = []
        for type_ in _types(times):
            own = times[batch, type_][tier]
            spent.append(f'{(own["later"] * layers + (own["first"] - own["later"]) * n_lists) * 1e6:9.1f} {type_}')
        lines.append(f'    {batch:8}{", ".join(spent)}')
    return lines


def text(model, n_tokens, same, times):
    """Text: a line for each tier and type that was verified, and the time of all layers."""
    lines = []
    if same:
        lines = ['  verified       ' + ', '.join(f'{tier} {"= scalar" if is_same else "FAILED: differs from scalar"}'
                                                 for tier, is_same in same.items()) + ' in every type, bit for bit', '']
    is_rope = model.positions == 'rope'
    titles = f'{"first" if is_rope else "":>10}{"later" if is_rope else "ns":>9}{"vs scalar":>10}{"vs limit":>10}'
    prefill = f'prefill, {n_tokens} tokens'
    work = 'Q and K' if is_rope else 'scale, ALiBi, causal mask and softmax in place'
    lines += [f'One layer, {work}, ns per token', '', f'  {"":18}{"decode, 1 token":>39}{prefill:>39}',
              f'  {"tier":9}{"type":9}{titles}{titles}']
    tiers = list(times['decode', 'float32'])
    lines += [_row(times, tier, type_) for tier in tiers for type_ in _types(times)]
    if is_rope and model.rotated_layers() > 1:
        lines += ['', *_all_layers(model, times, tiers[-2])]
    lines += ['', 'Medians, one thread, a call from Python for each tensor included, which dominates decode. limit:',
              'the same elements negated by NumPy.' +
              (' first: cosines and sines computed in the call; later: precomputed.' if is_rope else '')]
    return '\n'.join(lines)
