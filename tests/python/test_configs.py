"""posenc.model.read and Rope.from_config of the files in configs.py give one answer, that of the modelling code."""
import json
import pathlib
import re
import warnings

import configs
import numpy as np
import posenc
import pytest
import truth
from posenc import model
from posenc.model import families

CASES = configs.CASES


def name_of(case):
    inner = case.config.get('thinker_config', case.config)
    inner = next((inner[part] for part in ('text_config', 'vision_config') if part in inner), inner)
    return str(inner.get('model_type') or case.config.get('model_type'))


def of(*kinds):
    chosen = [case for case in CASES if ('refused' if case.refused else case.positions) in kinds]
    return pytest.mark.parametrize('case', chosen, ids=name_of)


# ---- Formulas in double (docs/formulas.md B.9 to B.33) ----


def axes_of(table, n_pairs):
    """The axis of each pair, and its frequency."""
    plain, i = table.base ** (-np.arange(n_pairs) / n_pairs), np.arange(n_pairs)
    if not table.axes:
        return np.zeros(n_pairs, int), plain
    kind, *sections = table.axes
    if kind == 'mrope':
        return np.repeat(range(len(sections)), sections), plain
    if kind == 'imrope':
        return np.array([j % 3 if j % 3 and j < 3 * sections[j % 3] else 0 for j in range(n_pairs)]), plain
    if kind == 'ernie': # published as h, w, t; planes are t, h, w
        return np.where(i < sections[0] + sections[1], 1 + i % 2, 0), plain
    if kind == 'alternate':
        return i % 2, table.base ** (-2.0 * (i // 2) / n_pairs)
    if kind == 'pixtral':
        half = n_pairs // 2
        return i // half, np.concatenate([plain[0::2], plain[1::2]])
    restarted = np.concatenate([np.arange(n) / n for n in sections]) # every section has frequencies of its own
    return np.repeat(range(len(sections)), sections), table.base ** -restarted


def llama3(theta, factor, low, high, original):
    turns = original * theta / (2 * np.pi)
    share = np.clip((turns - low) / (high - low), 0, 1)
    return theta * share + theta / factor * (1 - share)


def yarn(theta, base, factor, original, fast, slow, truncate):
    n_rot = 2 * len(theta)
    low, high = (n_rot * np.log(original / (beta * 2 * np.pi)) / (2 * np.log(base)) for beta in (fast, slow))
    if truncate:
        low, high = np.floor(low), np.ceil(high)
    low, high = max(low, 0), min(high, n_rot - 1)
    ramp = np.clip((np.arange(len(theta)) - low) / (high - low), 0, 1)
    return theta / factor * ramp + theta * (1 - ramp)


def scaled(table, theta):
    if not table.scale:
        return theta
    kind, *numbers = table.scale
    n_rot = 2 * len(theta)
    if kind == 'linear':
        return theta / numbers[0]
    if kind == 'divided':
        return theta / numbers
    if kind == 'llama3':
        return llama3(theta, *numbers)
    if kind == 'yarn':
        return yarn(theta, table.base, *numbers)
    if kind == 'proportional':
        return np.where(np.arange(len(theta)) < int(numbers[0] * table.dim // 2), theta, 0.0)
    if kind == 'alpha':
        grown = numbers[0]
    else:
        factor, trained, context = numbers
        grown = factor * context / trained - (factor - 1)
    return (table.base * grown ** (n_rot / (n_rot - 2))) ** (-2.0 * np.arange(len(theta)) / n_rot)


def channels(table, n_rot, layout):
    """The first and the second channel of each pair."""
    i = np.arange(n_rot // 2)
    if layout == 'half':
        return i, i + n_rot // 2
    if layout == 'half_by_axis':
        first = np.concatenate([start + np.arange(n) for start, n in zip((0, 2 * table.axes[1]), table.axes[1:])])
        return first, first + np.repeat(table.axes[1:], table.axes[1:])
    return 2 * i, 2 * i + 1


def rotated(table, x, positions, theta, axis):
    """x (n_tokens, n_rot or more channels) in double; positions (n_axes, n_tokens)."""
    n_rot = 2 * len(theta)
    first, second = channels(table, n_rot, 'interleaved' if table.layout == 'deinterleave' else table.layout)
    to_first, to_second = channels(table, n_rot, 'half') if table.layout == 'deinterleave' else (first, second)
    angle = (-1 if table.inverse else 1) * positions[axis].T * theta
    x = x.astype(np.float64)
    y = x.copy()
    y[:, to_first] = table.magnitude * (x[:, first] * np.cos(angle) - x[:, second] * np.sin(angle))
    y[:, to_second] = table.magnitude * (x[:, second] * np.cos(angle) + x[:, first] * np.sin(angle))
    return y


def check_rope(table, rope, offs=0):
    """Compares a Rope of heads whose rotated channels begin at offs with the formulas."""
    n_rot = table.rot or table.dim
    axis, theta = axes_of(table, n_rot // 2)
    theta = scaled(table, theta)
    sign = -1 if table.inverse else 1
    np.testing.assert_allclose(rope.theta, sign * theta, rtol=1e-12, atol=0)
    assert rope.axis.tolist() == axis.tolist() and rope.magnitude == pytest.approx(table.magnitude, rel=1e-14)
    x = truth.normal(3, 1, rope.head_dim)
    positions = truth.rng(1).integers(0, 200, (max(rope.n_axes, 1), 3))
    expected = x[:, 0].astype(np.float64)
    expected[:, offs:] = rotated(table, expected[:, offs:], positions.astype(np.float64), theta, axis)
    found = rope(x, positions if rope.n_axes > 1 else positions[0])[:, 0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6)


# ---- Both ways ----


def quietly(read, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return read(*arguments, **options)


def written(case, tmp_path):
    """As a file, which has numbers as names too."""
    (tmp_path / 'config.json').write_text(json.dumps(case.config))
    return tmp_path


def given(case, table):
    """The arguments that have to be given where the type is not known."""
    told = {'layout': table.layout, 'base': table.base, 'axes': table.axes[0] if table.axes else 'single'}
    return {name: told[name] for name in case.guessed}


def own_layers(case, i):
    """The layer_type to choose table i by, and None where it need not be told."""
    return None if len({table.name for table in case.tables}) == 1 else case.tables[i].name


def test_there_are_enough():
    assert len(CASES) >= 120
    read = {name_of(case) for case in CASES if case.part == 'text'} | {case.config.get('model_type') for case in CASES}
    rows = [names.split() for names, *_ in families._TEXTS]
    assert [names for names in rows if not read.intersection(names)] == []
    towers = {name_of(case) for case in CASES}
    assert [names for names, *_ in families._TOWERS if not towers.intersection(names.split())] == []
    assert all(re.fullmatch(r'|[\w-]+(@[\w.]+)?|[\w-]+/[\w.-]+', source)
               for _, source, _ in families._TEXTS + families._TOWERS)


@of('rope')
def test_tables_are_those_of_the_modelling_code(case, tmp_path):
    for config in case.config, written(case, tmp_path):
        found = quietly(model.read, config, case.context, case.part)
        assert found.positions == 'rope' and len(found.tables) == len(case.tables)
        assert tuple(found.guessed) == case.guessed and found.has_qk_norm == case.norm
        for table, expected in zip(found.tables, case.tables):
            n_heads, n_kv_heads = expected.q or found.n_heads, expected.k or found.n_kv_heads
            assert (table.name if len({t.name for t in case.tables}) > 1 else expected.name) == expected.name
            assert table.n_layers == max(expected.n or found.n_layers, 0) and table.params.layout == expected.layout
            assert (table.q.n_heads, table.q.head_dim, table.q.n_offs) == (n_heads, expected.dim, expected.q_offs)
            k_dim = expected.k_dim or expected.dim
            rot = expected.rot or expected.dim
            assert (table.k.n_heads, table.k.head_dim, table.k.n_offs) == \
                (n_kv_heads, k_dim, k_dim - rot if expected.k_dim else 0)
            assert table.params.base == expected.base and table.params.n_rot == rot
            for rope, offs in zip(table.ropes(), (table.q.n_offs, table.k.n_offs)):
                check_rope(expected, rope, offs)


@of('rope')
def test_from_config_makes_the_same_rope(case, tmp_path):
    for config in case.config, written(case, tmp_path):
        options = dict(context=case.context or None, part=case.part)
        for i, table in enumerate(case.tables):
            told, layer_type = given(case, table), own_layers(case, i)
            if case.needs_context: # the first list is for short sequences
                options['context'], layer_type = (1 if i == 0 else 10**5), None
            same_name = [other for other in case.tables if other.name == table.name]
            if len({other.dim for other in same_name}) > 1: # one name for two kinds of heads
                with pytest.raises(model.Refused, match='layer_type'):
                    posenc.Rope.from_config(config, layer_type=layer_type, **options)
                continue
            rope = quietly(posenc.Rope.from_config, config, layer_type=layer_type, **told, **options)
            assert rope.head_dim == (table.rot if table.k_dim else table.dim)
            check_rope(table, rope)
            for missing in told:
                others = {name: value for name, value in told.items() if name != missing}
                with pytest.raises(model.Refused, match=f'^{missing}: neither the file nor its model_type'):
                    quietly(posenc.Rope.from_config, config, layer_type=layer_type, **others, **options)
        if case.needs_context or own_layers(case, 0) is not None:
            with pytest.raises(model.Refused, match='^context: ' if case.needs_context else '^layer_type: '):
                quietly(posenc.Rope.from_config, config, part=case.part, layer_type=None if case.needs_context else 'x',
                        **given(case, case.tables[0]))


@of('rope')
def test_both_name_what_is_not_understood(case, tmp_path):
    path, told = written(case, tmp_path), given(case, case.tables[0])
    options = dict(part=case.part, context=case.context or 1)
    ways = [lambda **more: model.read(path, **options, **more), lambda **more: posenc.Rope.from_config(
        path, layer_type=own_layers(case, 0) if not case.needs_context else None, **told, **options, **more)]
    for way in ways:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter('always')
            try:
                way()
            except model.Refused as refused:
                assert str(refused).startswith('layer_type')
        assert len(said) == bool(case.unknown)
        for word in case.unknown:
            assert word in str(said[0].message) and said[0].filename == __file__
            with pytest.raises(model.Refused, match='^not understood: ') as refused:
                way(strict=True)
            assert word in str(refused.value)


@of('refused')
def test_both_refuse_with_the_same_words(case, tmp_path):
    for config in case.config, written(case, tmp_path):
        for way in model.read, posenc.Rope.from_config:
            with pytest.raises(model.Refused) as refused:
                quietly(way, config, part=case.part)
            assert case.refused in str(refused.value) and '\n' not in str(refused.value)


@of('alibi', 'learned', 'sinusoidal', 'relative_buckets', 'relative_keys', 'none')
def test_a_model_without_rope_has_none(case, tmp_path):
    for config in case.config, written(case, tmp_path):
        assert quietly(model.read, config).positions == case.positions
        with pytest.raises(model.Refused, match='has no RoPE; its positions are: '):
            quietly(posenc.Rope.from_config, config)


HERE = pathlib.Path(__file__).parent
PUBLISHED = HERE.parent.parent / 'models'
OTHERS = [(json.loads(path.read_text()), part) for path in sorted(PUBLISHED.glob('*.json'))
          for part in ('text', 'vision')]
OTHERS += [(json.loads(case['text']) if 'text' in case else case['config'], 'text')
           for case in json.loads((HERE / 'models.json').read_text())
           if 'config' in case or case.get('text', '').startswith('{"') and 'refused' not in case]


@pytest.mark.parametrize('config, part', OTHERS, ids=lambda value: value if isinstance(value, str) else '')
def test_other_files_give_one_answer(config, part):
    """The files of test_model.py, which has their meaning: the same by both ways, to the bit."""
    try:
        found = quietly(model.read, config, 5000, part)
    except model.Refused as refused:
        with pytest.raises(model.Refused, match=re.escape(str(refused))):
            quietly(posenc.Rope.from_config, config, part=part, context=5000)
        return
    for table in found.tables:
        params = table.params
        told = {name: getattr(params, name) for name in found.guessed}
        rope = quietly(posenc.Rope.from_config, config, part=part, context=5000, layer_type=table.name or None, **told)
        _, theta, magnitude = params.frequencies()
        assert rope.theta.tolist() == theta.tolist() and rope.magnitude == magnitude
    if not found.tables:
        with pytest.raises(model.Refused, match='has no RoPE'):
            quietly(posenc.Rope.from_config, config, part=part)


def test_layer_types_that_do_not_rotate_are_refused():
    config = configs.C('cohere2', layers=4, layer_types=configs.kinds(4, 4))
    assert posenc.Rope.from_config(config, layer_type='sliding_attention').head_dim == 128
    with pytest.raises(model.Refused, match="layer_type: 'full_attention' does not tell one; layers that rotate are"):
        posenc.Rope.from_config(config, layer_type='full_attention')
    alone = configs.C('llama')
    assert posenc.Rope.from_config(alone).head_dim == 128
    with pytest.raises(model.Refused, match='layer_type'):
        posenc.Rope.from_config(alone, layer_type='full_attention')


def test_options_win_over_the_file():
    config = configs.C('glm', head_dim=128)
    rope = posenc.Rope.from_config(config, layout='half', base=500.0, rot_fraction=1.0,
                                   scaling={'type': 'linear', 'factor': 2})
    np.testing.assert_allclose(rope.theta, truth.theta(128, 500.0) / 2, rtol=1e-14)
    x = truth.normal(2, 1, 128)
    np.testing.assert_allclose(posenc.Rope.from_config(config, layout='half', n_rot=8)(x, 3),
                               truth.rotate(x, [3, 4], 8), atol=1e-6)
    assert posenc.Rope.from_config(config, head_dim=64).head_dim == 64
    with pytest.raises(TypeError, match='wobble'):
        posenc.Rope.from_config(config, wobble=1)
