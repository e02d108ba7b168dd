"""Models with several positions a token, real ones or two ropes: what the reader makes of the published files, against
their formulas in double (docs/formulas.md B.20 to B.33), and what each scheme promises."""
import json
import pathlib

import numpy as np
import posenc
import pytest
import truth
from posenc import model
from posenc.model import report, work

pytestmark = pytest.mark.filterwarnings('ignore:not understood') # test_configs.py has these
HERE = pathlib.Path(__file__).parent
PUBLISHED = HERE.parent.parent / 'models'
BY_HAND = json.loads((HERE / 'models_by_hand.json').read_text())


def powers(base, n):
    """base^(-2j/n), j = 0 .. n/2-1."""
    return base ** (-2.0 * np.arange(n // 2) / n)


def halves(d):
    return np.arange(d // 2), np.arange(d // 2) + d // 2


def neighbours(d):
    return np.arange(0, d, 2), np.arange(1, d, 2)


def blocks(d, n_axes):
    """Halves inside each part of d / n_axes channels."""
    width = d // n_axes
    first = np.concatenate([a * width + np.arange(width // 2) for a in range(n_axes)])
    return first, first + width // 2


def imrope_axis(i, sections):
    return i % 3 if i % 3 and i < 3 * sections[i % 3] else 0


def ernie():
    axis = [1 + i % 2 if i < 44 else 0 for i in range(64)]
    return powers(5e5, 128), axis, neighbours(128)


def qwen2_5_omni():
    return powers(1e6, 128), np.repeat([0, 1, 2], [16, 24, 24]), halves(128)


def qwen3_omni():
    return powers(1e6, 128), [imrope_axis(i, (24, 20, 20)) for i in range(64)], halves(128)


def hunyuan():
    return powers(1e4 * 1000.0 ** (128 / 126), 128), np.repeat(range(4), 16), halves(128)


def dinov3():
    return np.tile(100.0 ** (-4.0 * np.arange(16) / 64), 2), np.repeat([0, 1], 16), halves(64)


def gemma4_vision():
    return np.tile(powers(100.0, 36), 2), np.repeat([0, 1], 18), blocks(72, 2)


def llama4_vision():
    return np.tile(powers(1e4, 44), 2), np.repeat([0, 1], 22), neighbours(88)


def qwen_vision(dim):
    return lambda: (np.tile(powers(1e4, dim // 2), 2), np.repeat([0, 1], dim // 4), halves(dim))


def moonvit():
    return np.repeat(powers(1e4, 36), 2), np.arange(36) % 2, neighbours(72)


#: File, its part, and theta, axis and channels of each pair.
FAMILIES = [('ernie-4.5-vl-28b', 'text', ernie), ('qwen2.5-omni-7b', 'text', qwen2_5_omni),
            ('qwen3-omni-30b-a3b', 'text', qwen3_omni), ('hunyuan-ocr', 'text', hunyuan),
            ('dinov3-vit-b16', 'text', dinov3), ('gemma-4-31b', 'vision', gemma4_vision),
            ('llama-4-scout', 'vision', llama4_vision), ('qwen2-vl-7b', 'vision', qwen_vision(80)),
            ('qwen3-vl-8b', 'vision', qwen_vision(72)), ('moonvit-so-400m', 'text', moonvit)]
families = pytest.mark.parametrize('name, part, formulas', FAMILIES, ids=[' '.join(row[:2]) for row in FAMILIES])


def rope_of(name, part):
    """As Rope.from_config makes it, and as the reader's parameters do."""
    path = PUBLISHED / f'{name}.json'
    config = json.loads(path.read_text())
    table = model.read(path, part=part).tables[0]
    rope = posenc.Rope.from_config(config, part=part)
    other = posenc.Rope(table.q.head_dim, **work.arguments(table.params))
    assert rope.theta.tolist() == other.theta.tolist() and rope.axis.tolist() == other.axis.tolist()
    x = truth.normal(2, 1, rope.head_dim)
    positions = truth.normal(rope.n_axes, 2, dtype='float64')
    np.testing.assert_array_equal(rope(x, positions), other(x, positions)) # the same channels too
    return rope


def rotated(x, positions, theta, axis, channels):
    """x (n_tokens, head_dim) at positions (n_axes, n_tokens), in double."""
    first, second = channels
    angle = np.asarray(positions, np.float64)[axis].T * theta
    x = np.asarray(x, np.float64)
    y = x.copy()
    y[:, first] = x[:, first] * np.cos(angle) - x[:, second] * np.sin(angle)
    y[:, second] = x[:, second] * np.cos(angle) + x[:, first] * np.sin(angle)
    return y


@pytest.mark.parametrize('case', BY_HAND, ids=lambda case: f'{case["file"]} {case["part"]}')
def test_says_what_was_checked_by_hand(case):
    lines = report.text(model.read(PUBLISHED / case['file'], part=case['part']), 'FILE').split('\n')
    assert [lines[0].removesuffix('  (FILE)'), *lines[2:-2]] == case['says']


@families
def test_rotations_are_those_of_the_formulas(name, part, formulas):
    rope, (theta, axis, channels) = rope_of(name, part), formulas()
    np.testing.assert_allclose(rope.theta, theta, rtol=1e-14)
    assert rope.axis.tolist() == list(axis)
    x = truth.normal(50, 1, rope.head_dim)
    positions = truth.rng(1).integers(0, 500, (rope.n_axes, 50))
    for at in positions, positions + 0.25, 2 * np.pi * truth.rng(2).uniform(-1, 1, (rope.n_axes, 50)):
        np.testing.assert_allclose(rope(x, at)[:, 0], rotated(x[:, 0], at, theta, axis, channels), atol=2e-6)


@families
def test_scores_depend_on_differences_axis_by_axis(name, part, formulas):
    rope = rope_of(name, part)
    q, k = truth.normal(1, 1, rope.head_dim, seed=1), truth.normal(1, 1, rope.head_dim, seed=2)
    at_q, at_k = (truth.rng(seed).uniform(-50, 50, (rope.n_axes, 1)) for seed in (3, 4))

    def score(moved_q, moved_k):
        return float(np.sum(rope(q, at_q + moved_q).astype(np.float64) * rope(k, at_k + moved_k)))

    for axis in range(rope.n_axes):
        move = np.zeros((rope.n_axes, 1))
        move[axis] = 37.0
        assert score(move, move) == pytest.approx(score(0, 0), abs=2e-4)
        assert abs(score(100 * move, 0) - score(0, 0)) > 1e-3 # every axis counts


# ---- DeepSeek-V4 ----


def deepseek_v4(**fields):
    config = json.loads((PUBLISHED / 'deepseek-v4-flash.json').read_text())
    return {name: value for name, value in {**config, **fields}.items() if value is not None}


def tables(config, tmp_path):
    (tmp_path / 'config.json').write_text(json.dumps(config))
    found = model.read(tmp_path)
    assert found.output_rotates and not found.not_understood and not found.guessed
    return {table.name: table for table in found.tables}


def yarn(base, factor, original, n_rot):
    """B.13, beta 32 and 1."""
    plain = powers(base, n_rot)
    low, high = (n_rot * np.log(original / (beta * 2 * np.pi)) / (2 * np.log(base)) for beta in (32, 1))
    low, high = max(np.floor(low), 0), min(np.ceil(high), n_rot - 1)
    ramp = np.clip((np.arange(n_rot // 2) - low) / (high - low), 0, 1)
    return plain / factor * ramp + plain * (1 - ramp)


@pytest.mark.parametrize('fields', [
    {},
    {'rope_scaling': None, 'rope_theta': None, 'compress_rope_theta': None, 'compress_ratios': None,
     'rope_parameters': {
        'main': {'rope_type': 'default', 'rope_theta': 1e4, 'partial_rotary_factor': 0.125},
        'compress': {'rope_type': 'yarn', 'rope_theta': 16e4, 'factor': 16, 'original_max_position_embeddings': 65536,
                     'beta_fast': 32, 'beta_slow': 1, 'partial_rotary_factor': 0.125}},
     'qk_rope_head_dim': None, 'partial_rotary_factor': 0.125,
     'layer_types': ['sliding_attention'] * 2 + ['heavily_compressed_attention'] + 20 * [
         'compressed_sparse_attention', 'heavily_compressed_attention']},
], ids=['first form', 'second form'])
def test_deepseek_v4_has_two_ropes(fields, tmp_path):
    found = tables(deepseek_v4(**fields), tmp_path)
    local, compressed = found['sliding_attention'], found['compressed_attention']
    assert (local.n_layers, compressed.n_layers) == (2, 41)
    for table, theta in (local, powers(1e4, 64)), (compressed, yarn(16e4, 16, 65536, 64)):
        _, found_theta, magnitude = table.params.frequencies()
        np.testing.assert_allclose(found_theta, theta, rtol=1e-13)
        assert magnitude == 1.0 and table.params.layout == 'interleaved'
        assert (table.q.n_offs, table.k.n_offs, table.k.n_heads, table.params.n_rot) == (448, 448, 1, 64)


def test_rope_from_config_of_deepseek_v4():
    rope, local = (posenc.Rope.from_config(deepseek_v4(), layer_type=kind)
                   for kind in ('compressed_attention', 'sliding_attention'))
    np.testing.assert_allclose(rope.theta, yarn(16e4, 16, 65536, 64), rtol=1e-13)
    np.testing.assert_allclose(local.theta, powers(1e4, 64), rtol=1e-14)
    assert rope.magnitude == local.magnitude == 1.0 and rope.head_dim == local.head_dim == 64


def test_output_rotated_back_depends_on_differences():
    """K and V are one: rotated back by the query's position, attention's output is a sum of values, each rotated by its
    distance."""
    rope = posenc.Rope(64, n_rot=16, n_offs=48, layout='interleaved')
    q, kv = truth.normal(1, 5, 2, 64, seed=1), truth.normal(1, 5, 1, 64, seed=2)

    def output(start):
        keys = rope(kv, start)
        return rope(posenc.attention(rope(q, start), keys, keys, causal=True), start, direction='inverse')

    np.testing.assert_allclose(output(0), output(10000), atol=2e-6)
    keys = rope(kv, 7)
    not_rotated_back = posenc.attention(rope(q, 7), keys, keys, causal=True)
    assert np.abs(not_rotated_back - output(7))[..., 48:].max() > 0.1


# ---- What is not known is said, or refused ----


@pytest.mark.parametrize('words, config, part', [
    ('there is no vision_config', {'model_type': 'gemma4_vision'}, 'vision'),
    ('"axial", a scaling that posenc does not have',
     {'model_type': 'llama', 'hidden_size': 64, 'num_attention_heads': 1, 'rope_parameters': {'rope_type': 'axial'}},
     'text'),
    ('"some_vision" is unknown', {'vision_config': {'model_type': 'some_vision', 'hidden_size': 64}}, 'vision'),
    ('"llama" is unknown', {'vision_config': {'model_type': 'llama', 'hidden_size': 64}}, 'vision'), # a tower is meant
    ('hidden_size 90 is no multiple', {'model_type': 'moonvit', 'hidden_size': 90, 'num_attention_heads': 4}, 'text'),
    ('add up to 64 pairs, but a head has 32',
     {'model_type': 'qwen3_omni_moe_text', 'head_dim': 64, 'num_attention_heads': 1}, 'text'),
])
def test_what_is_not_known_is_refused(words, config, part, tmp_path):
    (tmp_path / 'config.json').write_text(json.dumps(config))
    with pytest.raises(model.Refused) as refused:
        model.read(tmp_path, part=part)
    assert words in str(refused.value)


#: Smallest files in another form: fields, and the family whose rotation they mean.
OTHER_FORMS = [
    ({'model_type': 'ernie4_5_moe_vl', 'head_dim': 128, 'rope_theta': 500000,
      'rope_scaling': {'type': 'default', 'mrope_section': [22, 22, 20]}}, ernie),
    ({'model_type': 'hunyuan_vl', 'text_config': {
        'model_type': 'hunyuan_vl_text', 'head_dim': 128, 'num_attention_heads': 1, 'max_position_embeddings': 32768,
        'rope_parameters': {'rope_type': 'dynamic', 'alpha': 1000.0, 'rope_theta': 1e4, 'factor': 1.0,
                            'mrope_section': [16, 16, 16, 16]}}}, hunyuan),
    ({'model_type': 'qwen3_omni_moe_text', 'head_dim': 128}, qwen3_omni),
    ({'model_type': 'kimi_k25_vision', 'hidden_size': 72, 'rope_parameters': {'rope_type': 'axial'}}, moonvit),
    ({'model_type': 'dinov3_vit', 'head_dim': 64}, dinov3),
]


@pytest.mark.parametrize('fields, formulas', OTHER_FORMS, ids=[fields['model_type'] for fields, _ in OTHER_FORMS])
def test_other_forms_mean_the_same(fields, formulas, tmp_path):
    config = {**fields, **({} if 'text_config' in fields else {'num_attention_heads': 1})}
    (tmp_path / 'config.json').write_text(json.dumps(config))
    found = model.read(tmp_path)
    rope = posenc.Rope(found.tables[0].q.head_dim, **work.arguments(found.tables[0].params))
    theta, axis, _ = formulas()
    np.testing.assert_allclose(rope.theta, theta, rtol=1e-13)
    assert rope.axis.tolist() == list(axis) and not found.guessed and not found.not_understood


def test_layers_that_share_keys_are_counted(tmp_path):
    config = {'model_type': 'gemma4_text', 'num_hidden_layers': 35, 'num_kv_shared_layers': 20}
    (tmp_path / 'config.json').write_text(json.dumps(config))
    found = model.read(tmp_path)
    assert found.n_kv_shared == 20 and 'the last 20 layers rotate Q alone' in report.text(found, 'FILE')
    (tmp_path / 'config.json').write_text(json.dumps({**config, 'num_kv_shared_layers': 36}))
    with pytest.raises(model.Refused, match='"num_kv_shared_layers" is 36'):
        model.read(tmp_path)


def test_parts_are_text_and_vision(tmp_path):
    with pytest.raises(ValueError, match="part: 'audio' is none of text, vision"):
        model.read(PUBLISHED / 'gemma-4-31b.json', part='audio')
    (tmp_path / 'model.gguf').write_bytes(b'GGUF')
    with pytest.raises(model.Refused, match='tower for images'):
        model.read(tmp_path / 'model.gguf', part='vision')


@pytest.mark.parametrize('words, config', [
    ('there is no vision_config', {'model_type': 'llama', 'hidden_size': 64, 'num_attention_heads': 1}),
    ('"llama" is unknown', {'vision_config': {'model_type': 'llama', 'hidden_size': 64}})])
def test_a_tower_that_is_not_known_has_no_rope(words, config):
    with pytest.raises(ValueError, match=words):
        posenc.Rope.from_config(config, part='vision')


@pytest.mark.parametrize('words, fields', [
    ('"qk_rope_head_dim" is 0.5', {'qk_rope_head_dim': 0.5}), ('qk_rope_head_dim', {'qk_rope_head_dim': 600}),
    ('"qk_rope_head_dim" is no number', {'qk_rope_head_dim': 'x'}), ('"rope_theta" is no number', {'rope_theta': 'x'}),
    ('"compress_rope_theta" is 0,', {'compress_rope_theta': 0}),
    ('"layer_types" is a list of 2', {'layer_types': ['sliding_attention'] * 2}),
    ('"layer_types" holds what', {'layer_types': ['sliding_attention'] * 42 + ['full_attention']}),
    ('"compress_ratios" holds what is no number', {'compress_ratios': [0, 4, None]}),
])
def test_a_damaged_deepseek_v4_is_refused(words, fields, tmp_path):
    (tmp_path / 'config.json').write_text(json.dumps(deepseek_v4(**fields)))
    with pytest.raises(model.Refused, match=words):
        model.read(tmp_path)


def test_a_newer_file_of_a_tower(tmp_path):
    rope = {'rope_type': 'axial', 'rope_theta': 50.0}
    config = {'vision_config': {'model_type': 'gemma4_vision', 'rope_parameters': rope}}
    (tmp_path / 'config.json').write_text(json.dumps(config))
    params = model.read(tmp_path, part='vision').tables[0].params
    assert (params.base, params.axes, params.layout, params.sections) == (50.0, 'axial', 'half_by_axis', [16, 16])
    rope = posenc.Rope.from_config(config, part='vision')
    assert (rope.theta[1], rope.axis.tolist()) == (50.0 ** (-1 / 16), [0] * 16 + [1] * 16)
