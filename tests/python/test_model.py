"""The reader of models: what it makes of published files, of parts of others, and of damaged ones.

models.json has a case per file and what `posenc model` of C said of it, word for word, when both readers existed; since
then facts of more model_types are known, and their cases say so.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import time
import tracemalloc

import gguf_file
import numpy as np
import posenc
import pytest
from posenc import model
from posenc.model import command, report, work

pytestmark = pytest.mark.filterwarnings('ignore:not understood') # test_configs.py has these
HERE = pathlib.Path(__file__).parent
PUBLISHED = HERE.parent.parent / 'models'
CASES = json.loads((HERE / 'models.json').read_text())
BY_HAND = json.loads((HERE / 'models_by_hand.json').read_text()) # of test_families.py


def content(case):
    """The bytes of a case's file."""
    if 'file' in case:
        return (PUBLISHED / case['file']).read_bytes()
    if 'architecture' in case:
        tensors = case.get('tensors', [])
        header = gguf_file.header([*gguf_file.common(case['architecture']), *case['keys']], tensors,
                                  case.get('version', 3))
        return gguf_file.lists(header, sum(tensor[2] == 0 for tensor in tensors), 4)
    return (case['text'] if 'text' in case else json.dumps(case['config'])).encode()


def said(path, context=0):
    """As a case has it: the lines of the report, or why the file is refused."""
    try:
        lines = report.text(model.read(path, context), 'FILE').split('\n')
    except model.Refused as refusal:
        return {'refused': str(refusal)}
    assert lines[1] == lines[-1] == lines[-2] == ''
    return {'says': [lines[0].removesuffix('  (FILE)'), *lines[2:-2]]}


def refusal(path, data):
    path.write_bytes(data)
    with pytest.raises(model.Refused) as refused:
        model.read(path)
    assert '\n' not in str(refused.value)
    return str(refused.value)


@pytest.fixture
def file(tmp_path):
    return tmp_path / 'config.json'


def name_of(case):
    return case.get('file') or case.get('architecture') or case.get('text', 'config')


@pytest.mark.parametrize('case', CASES, ids=name_of)
def test_says_what_the_reader_of_c_said(case, file):
    file.write_bytes(content(case))
    expected = {name: case[name] for name in ('says', 'refused') if name in case}
    assert said(file, case.get('context', 0)) == expected


def test_every_published_model_is_a_case():
    assert {path.name for path in PUBLISHED.glob('*.json')} == {case['file'] for case in CASES + BY_HAND
                                                                     if 'file' in case}


def test_a_folder_is_read_by_its_config(tmp_path):
    (tmp_path / 'config.json').write_bytes((PUBLISHED / 'llama-3.1-8b.json').read_bytes())
    assert model.read(tmp_path).tables[0].params.base == 5e5
    assert said(tmp_path / 'config.json') == said(tmp_path)


# ---- Fields that the reader of C did not have ----


def both_readers(config, file):
    """The table that the file describes, and the Rope that is made of it."""
    file.write_text(json.dumps({'num_attention_heads': 2, 'num_hidden_layers': 1, 'head_dim': 128, **config}))
    table = model.read(file).tables[0]
    told = {} if 'model_type' in config else {'layout': 'half', 'base': 1e4, 'axes': table.params.axes}
    rope = posenc.Rope.from_config(file, **told)
    _, theta, magnitude = table.params.frequencies()
    np.testing.assert_array_equal(rope.theta, theta)
    assert rope.magnitude == magnitude
    assert (table.params.axes == 'single') == (rope.n_axes == 1)
    assert posenc.Rope(128, **work.arguments(table.params)).axis.tolist() == rope.axis.tolist()
    return table, rope


def test_a_factor_on_the_base_counts_once(file):
    table, rope = both_readers({'model_type': 'chatglm', 'rope_ratio': 50}, file)
    assert table.params.base == 500000.0
    assert np.array_equal(rope.theta, posenc.Rope(64, base=5e5).theta) # a half of the head rotates


@pytest.mark.parametrize('parameters', [{'rope_type': 'default', 'mrope_section': [22, 22, 20]}, {}])
def test_sections_of_ernie_are_published_in_another_order(parameters, file):
    table, rope = both_readers({'model_type': 'ernie4_5_vl_moe_text', 'rope_parameters': parameters}, file)
    assert (table.params.axes, table.params.sections, table.params.base) == ('ernie', [20, 22, 22], 5e5)
    assert rope.axis.tolist() == [1, 2] * 22 + [0] * 20
    assert any('sections of 20 22 22 pairs, the second and third in turns' in line for line in said(file)['says'])


def test_alpha_of_hunyuan(file):
    scaling = {'type': 'dynamic', 'alpha': 1000.0, 'factor': 1.0, 'beta_fast': 32, 'beta_slow': 1}
    _, rope = both_readers({'max_position_embeddings': 4096, 'rope_scaling': scaling}, file)
    np.testing.assert_allclose(rope.theta[-1], 1e4 ** (-126 / 128) / 1000, rtol=1e-12)
    assert any('dynamic ntk, factor 1, alpha 1000' in line for line in said(file)['says'])
    vision = {**scaling, 'type': 'xdrope', 'xdrope_section': [16, 16, 16, 16]}
    _, rope = both_readers({'rope_scaling': vision}, file)
    assert rope.axis.tolist() == np.repeat(range(4), 16).tolist()
    del vision['factor']
    assert np.array_equal(both_readers({'rope_scaling': vision}, file)[1].theta, rope.theta)
    bad = {'num_attention_heads': 2, 'head_dim': 128, 'rope_scaling': {**vision, 'alpha': 0.5}}
    assert '"alpha" is 0.5' in refusal(file, json.dumps(bad).encode())
    bad['rope_scaling'] = {**vision, 'xdrope_section': [16, 16, 16]}
    assert '"xdrope_section" add up to 48' in refusal(file, json.dumps(bad).encode())


def test_query_temperature_of_ministral(file):
    parameters = {'rope_type': 'yarn', 'factor': 16.0, 'original_max_position_embeddings': 16384,
                  'llama_4_scaling_beta': 0.1}
    _, rope = both_readers({'model_type': 'ministral3', 'rope_parameters': parameters}, file)
    assert rope.query_temperature(16384) == pytest.approx(1 + 0.1 * np.log(2), rel=1e-15)
    assert any('Q to be multiplied by 1 + 0.1 ln(' in line for line in said(file)['says'])


def test_base_of_local_layers(file):
    config = {'model_type': 'modernbert', 'head_dim': 64, 'global_rope_theta': 160000.0, 'local_rope_theta': 1e4}
    file.write_text(json.dumps(config))
    full, local = (posenc.Rope.from_config(file, layer_type=kind) for kind in ('full_attention', 'sliding_attention'))
    assert np.array_equal(full.theta, posenc.Rope(64, base=160000.0).theta)
    assert np.array_equal(local.theta, posenc.Rope(64).theta)
    gemma = {'model_type': 'gemma3_text', 'rope_local_base_freq': 500.0, 'head_dim': 64}
    local = posenc.Rope.from_config(gemma, layer_type='sliding_attention')
    assert np.array_equal(local.theta, posenc.Rope(64, base=500.0).theta)


def test_a_report_tells_tables_apart(file):
    """By name, layers, heads and the part that rotates."""
    bases = {'full_attention': {'rope_theta': 5e5, 'partial_rotary_factor': 0.5},
             'sliding_attention': {'rope_theta': 1e4}}
    file.write_text(json.dumps({
        'model_type': 'laguna', 'num_attention_heads': 48, 'num_key_value_heads': 8, 'num_hidden_layers': 3,
        'layer_types': ['full_attention', 'sliding_attention', 'sliding_attention'],
        'num_attention_heads_per_layer': [48, 64, 64], 'rope_parameters': bases}))
    assert [line[17:] for line in said(file)['says'] if line.endswith(':')] == [
        'full_attention, 1 layer, Q 48, K 8, of 128 channels, 64 channels rotated:', 'sliding_attention, 2 layers:']
    file.write_text(json.dumps({'model_type': 'sapiens2', 'hidden_size': 1024, 'num_attention_heads': 16,
                                'num_hidden_layers': 3, 'num_key_value_heads_per_layer': [16, 8, 8]}))
    assert [line[17:] for line in said(file)['says'] if line.endswith(':')] == [
        '1 layer, Q 16, K 16, of 64 channels:', '2 layers:']
    file.write_text(json.dumps({'model_type': 'nanochat', 'hidden_size': 768, 'num_attention_heads': 6}))
    assert '  positions      RoPE, half-split, 128 of 128 channels, by minus the position' in said(file)['says']


# ---- Files that are none ----


@pytest.mark.parametrize('path', ['none', 'folder', '/dev/null', '/dev/full'])
def test_what_is_no_file_is_refused(tmp_path, path):
    (tmp_path / 'folder').mkdir()
    with pytest.raises(model.Refused, match='give'):
        model.read(tmp_path / path)


def test_json_that_python_would_take(file):
    heads = b'"num_attention_heads": 4, "head_dim": 8, '
    start = b'{"model_type": "llama", ' + heads
    for number, word in (b'NaN', 'nan'), (b'Infinity', 'inf'), (b'-Infinity', '-inf'):
        assert f'is {word}' in refusal(file, start + b'"rope_theta": ' + number + b'}')
        assert f'is {word}' in refusal(file, start + b'"rope_scaling": {"factor": ' + number + b', "type": "linear"}}')
        assert f'"hidden_size" is {word}' in refusal(file, start + b'"hidden_size": ' + number + b'}')
        sections = b'"rope_scaling": {"type": "mrope", "mrope_section": [1, ' + number + b']}}'
        assert f'holds {word}' in refusal(file, start + sections)
        file.write_bytes(start + b'"time_step_limit": [0.0, ' + number + b']}') # NVIDIA's, and nothing to positions
        assert model.read(file, strict=True).tables[0].params.base == 1e4
    assert 'nested too deeply' in refusal(file, b'{"a": ' * 100000 + b'1' + b'}' * 100000)
    assert '"hidden_size" is inf' in refusal(file, b'{"model_type": "llama", "hidden_size": ' + b'9' * 5000 + b'}')
    assert 'too large' in refusal(file, b' ' * (1 << 24) + b'{}')


@pytest.mark.parametrize('raw', [b'\x1b', b'\x7f', b'\x80', b'\x9b', b'\xc2\x80', b'\xc2\x9b', b'\xc1\x9b',
                                 b'\xe0\x82\x9b', b'\xf8\x90\x80\x9b', b'\xc3', b'\xc3x\x9b'])
def test_a_file_sends_nothing_to_the_terminal_that_it_would_obey(file, raw):
    heads = b'"num_attention_heads": 4, "head_dim": 8'
    start = b'{"architectures": ["ab*31m"], "model_type": "c*", '.replace(b'*', raw) + heads
    rope = b', "rope_theta": 1e4, "rope_wobble*": 1, "rope_scaling": {"mode": "*"}}'.replace(b'*', raw)
    file.write_bytes(start + rope)
    text = report.text(model.read(file), os.fsdecode(b'a' + raw))
    assert text.startswith('ab?') and text.replace('\n', '').isascii() and text.replace('\n', '').isprintable()
    assert report.printable(refusal(file, start + b'}'), None).isascii()


@pytest.mark.parametrize('character', ['\ud800', '\udc9b', '\udfff', '\u202a', '\u202e', '\u2066', '\u2069', '\u200e',
                                       '\u200f', '\u061c', '\u2028', '\ufeff', '\u200b', '\x1b', '\0', '\U000e0001'],
                         ids=lambda character: f'U+{ord(character):04X}')
def test_a_name_of_a_file_has_only_what_prints(file, character, capsys):
    """Escaped in JSON, even half a surrogate pair is a character; marks of direction turn what a terminal shows."""
    config = {'architectures': [f'ab{character}'], 'model_type': f'c{character}', 'num_attention_heads': 4,
              'head_dim': 8, 'rope_theta': 1e4, f'rope_{character}': 1,
              'rope_scaling': {'mode': character, character: 1, f'rope_{character}': 'x'}}
    file.write_text(json.dumps(config))
    text = report.text(model.read(file), f'a{character}')
    assert text.startswith('ab?') and text.replace('\n', '').isascii() and text.replace('\n', '').isprintable()
    json.loads(json.dumps(report.dictionary(model.read(file))))
    assert command.main(['--no-timing', str(file)]) == 0
    assert capsys.readouterr().out.startswith('ab?')
    file.write_text(json.dumps({'model_type': character, 'num_attention_heads': 4}))
    assert command.main([str(file)]) == 2
    assert '"?" is unknown' in capsys.readouterr().err


@pytest.mark.parametrize('field', ['"type": "linear"', '"wobble": 1', '"a%d": {"factor": 2}', '"f%d": 1'])
def test_large_objects_take_no_long_time(file, field):
    fields = ', '.join(field % i if '%' in field else field for i in range(40000))
    start = time.monotonic()
    file.write_text('{"model_type": "llama", "num_attention_heads": 4, "head_dim": 8, "num_hidden_layers": 12, '
                    f'"rope_scaling": {{"factor": 2, "type": "linear", {fields}}}}}')
    said(file)
    assert time.monotonic() - start < 5


def test_many_layers_take_no_long_time(file):
    start = time.monotonic()
    tracemalloc.start()
    file.write_text(json.dumps({'model_type': 'gemma4_text', 'num_hidden_layers': 2**17,
                                'per_layer_config': {'5': {'head_dim': 512}}}))
    assert model.read(file).n_layers == 2**17
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()
    assert time.monotonic() - start < 60


# ---- Damaged GGUF files ----


def whole(name):
    return content(next(case for case in CASES if case.get('architecture') == name))


@pytest.mark.parametrize('name, least', [('llama', 0), ('phi3', 400)])
def test_cut_off_anywhere(file, name, least):
    data = whole(name)
    end = data.index(struct.pack('<3f', 1, 2, 3)) # the first list; of what is before it nothing can be missing
    for size in range(least, end - 32):
        refusal(file, data[:size])
    assert 'no list of float32 inside the file' in refusal(file, data[:-1])


def test_any_byte_changed_is_read_or_refused(file):
    data = whole('llama')
    for i in range(data.index(struct.pack('<3f', 1, 2, 3))):
        damaged = bytearray(data)
        damaged[i] ^= 0x80 if i % 2 else 0x01 # counts and types a little wrong, or much
        file.write_bytes(damaged)
        said(file)


def with_key(*parts):
    return gguf_file.begin(3, 0, 7) + b''.join(gguf_file.value(*v) for v in gguf_file.common('llama')) + b''.join(parts)


def array_of(type_, n):
    return with_key(gguf_file.key('x', gguf_file.ARRAY), struct.pack('<IQ', type_, n))


MANY = 2**64 - 1
DAMAGED = [
    ('JSON', b'g' + whole('llama')[1:]),
    ('convert the model anew', whole('llama').replace(b'GGUF\3', b'GGUF\1', 1)),
    ('version', b'GGUF\0\0\0\3' + whole('llama')[8:]),
    ('ends too early', whole('llama')[:8] + struct.pack('<QQ', 2, MANY) + whole('llama')[24:]),
    ('ends too early', whole('llama')[:8] + struct.pack('<QQ', MANY, 14) + whole('llama')[24:]),
    *[('ends too early', array_of(type_, MANY // 4 + 2)) for type_ in (0, 2, 12, 8)],
    ('unknown type', with_key(gguf_file.key('x', 77), bytes(8))),
    ('unknown type', array_of(gguf_file.ARRAY, 1)),
    ('ends too early', with_key(gguf_file.key('x', 8), struct.pack('<Q', MANY))),
    *[('general.alignment that is no power of two', with_key(gguf_file.value('general.alignment', 'u32', n)))
      for n in (0, 3, 24, 33, 1 << 20 | 1, 1 << 21)],
    ('is no number', with_key(gguf_file.value('llama.attention.head_count', 'string', 'many'))),
    ('is no number', with_key(gguf_file.value('llama.rope.freq_base', 'string', 'ten thousand'))),
    ('posenc does not have', with_key(gguf_file.value('llama.rope.scaling.type', 'string', 'weird'))),
    ('makes no sense', with_key(gguf_file.value('llama.attention.head_count', 'i32', -1))),
    ('correct rope.dimension_count', with_key(gguf_file.value('llama.rope.dimension_count', 'u32', 7))),
    ('"llama.rope.freq_base" is 0 or missing; it has to be 1 to 1e+30',
     with_key(gguf_file.value('llama.rope.freq_base', 'u32', 0))),
    ('max_alibi_bias" is -16, which makes no sense',
     gguf_file.header([*gguf_file.common('mpt'), ('mpt.attention.max_alibi_bias', 'f32', -16.0)])),
    ('this is a part of a split model: give the first', gguf_file.header([('split.count', 'u16', 2)])),
    ('there is no general.architecture; is this a model?', gguf_file.header([])),
    ('"abacus" is unknown', gguf_file.header(gguf_file.common('abacus'))),
    *[('no list of float32 inside the file',
       gguf_file.lists(gguf_file.header(gguf_file.common('llama'), [('rope_freqs.weight', n, type_, offset)]), 1, 4))
      for n, type_, offset in ((4, 1, 0), (0, 0, 0), (MANY, 0, 0), (4, 0, MANY - 63), (4, 0, 4))],
]


@pytest.mark.parametrize('words, data', DAMAGED, ids=lambda value: value if isinstance(value, str) else '')
def test_damaged_gguf_is_refused(file, words, data):
    assert words in refusal(file, data)


def large(key, type_number, n, size):
    """A file with an array of n elements, whose bytes are 0 and take no place on the disk; size: of an element."""
    before = gguf_file.begin(3, 0, 7) + gguf_file.key(key, gguf_file.ARRAY) + struct.pack('<IQ', type_number, n)
    return before, n * size, b''.join(gguf_file.value(*v) for v in gguf_file.common('llama'))


@pytest.mark.parametrize('words, parts', [
    ('', large('tokenizer.scores', 6, 16 << 20, 4)), ('', large('tokenizer.bytes', 0, 64 << 20, 1)),
    ('', large('llama.rope.unheard', 12, 8 << 20, 8)), ('', large('tokenizer.tokens', 8, 1 << 18, 8)),
    ('array of 16777216 numbers as "llama.attention.head_count"', large('llama.attention.head_count', 4, 16 << 20, 4)),
    ('array of 67108864 numbers', large('llama.rope.dimension_sections', 0, 64 << 20, 1)),
    ('more than 32768 keys', (gguf_file.begin(3, 0, 1 << 22), 13 << 22, b'')),
    ('more than 65536 tensors', (gguf_file.begin(3, 1 << 21, 0), 24 << 21, b'')),
], ids=lambda value: value if isinstance(value, str) else '')
def test_an_array_takes_no_memory(file, words, parts):
    before, n_zeros, after = parts
    with open(file, 'wb') as whole_file:
        whole_file.write(before)
        whole_file.seek(n_zeros, 1)
        whole_file.write(after or b'\0')
    tracemalloc.start()
    try:
        read = model.read(file)
        assert not words and read.n_heads == 2
    except model.Refused as refused:
        assert words and words in str(refused)
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < (40 << 20 if 'more than' in words else 2 << 20)


# ---- The command ----


def run(*arguments):
    command_line = [sys.executable, '-m', 'posenc', 'model', *map(str, arguments)]
    return subprocess.run(command_line, capture_output=True, text=True)


@pytest.mark.parametrize('path', sorted(PUBLISHED.glob('*.json')), ids=lambda path: path.stem)
def test_a_published_model_is_verified_and_timed(path, capsys):
    assert command.main(['--quick', '--tokens', '2', str(path)]) == 0
    text = capsys.readouterr().out
    assert report.text(model.read(path), path) in text and 'FAILED' not in text
    assert all(f'{tier} = scalar' in text for tier in posenc.isa_supported()[1:])
    assert max(map(len, text.split('\n'))) <= 120


def test_json_has_what_the_report_has(capsys):
    path = PUBLISHED / 'phi-4-mini.json'
    assert command.main(['--quick', '--tokens', '2', '--json', str(path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [table['name'] for table in found['tables']] == ['up to 4096 positions', 'beyond 4096 positions']
    assert found['tables'][1]['magnitude'] == pytest.approx(1.19023807, abs=1e-8)
    assert len(found['tables'][0]['theta']) == found['tables'][0]['params']['n_rot'] // 2
    assert found['verified'] == {tier: True for tier in posenc.isa_supported()[1:]}
    assert all(times['scalar']['later'] > 0 for times in found['seconds_per_token'])


def test_a_result_that_differs_is_a_failure(monkeypatch, capsys):
    results = work.Layer.results
    monkeypatch.setattr(work.Layer, 'results', lambda layer: results(layer) + [posenc.isa()])
    assert command.main(['--quick', '--tokens', '2', str(PUBLISHED / 'gpt-j-6b.json')]) == 1
    assert 'FAILED: differs from scalar' in capsys.readouterr().out


@pytest.mark.parametrize('words, arguments', [
    ('required: FILE', []), ('whole number from 1 to 65536', ['--tokens', '0']), ('not', ['--context', '1e3']),
    ("'sse' does not run here", ['--isa', 'sse']), ('none.json: No such file', ['none.json']),
    *[('use a smaller --tokens', ['--tokens', '65536', PUBLISHED / f'{name}.json'])
      for name in ('llama-3.1-8b', 'bloom-7b1')]])
def test_wrong_arguments_get_one_line(words, arguments):
    done = run(*arguments, *([] if 'json' in str(arguments) or not arguments else [PUBLISHED / 'gpt-j-6b.json']))
    assert done.returncode == 2 and done.stdout == '' and words in done.stderr.split('\n')[-2]


def test_sections_are_counted():
    params = model.description._published.RopeParams()
    params.sections = [1] * 4
    with pytest.raises(ValueError, match='sections: at most 4'):
        params.sections = [1] * 6
    assert params.sections == [1] * 4
