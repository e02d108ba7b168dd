"""python -m posenc table and plot: values against formulas, pictures against what they show, arguments."""
import json
import pathlib
import struct
import subprocess
import sys

import numpy as np
import posenc
import pytest
from posenc import methods, options, table

pytest.importorskip('matplotlib')
from posenc.plot import command, panels, studies, views # noqa: E402

PNG = b'\x89PNG\r\n\x1a\n'


def made(name, **given):
    """Result of a method, with its defaults."""
    method = methods.METHODS[name]
    values = {**method.defaults, **given}
    return method.make(type('Options', (), {key.replace('-', '_'): value for key, value in values.items()}))


def refuses(main, words, capsys, *arguments):
    """In one line, or by the parser with exit status 2."""
    try:
        status = main(list(arguments))
    except SystemExit as exit_:
        status = exit_.code
    shown = capsys.readouterr()
    assert status == 2 and shown.out == '' and words in shown.err.split('\n')[-2], shown.err


# ---- Methods ----


def test_sinusoidal_is_the_formula():
    position, pair = np.arange(128)[:, None], np.arange(64)
    angle = position * 10000.0 ** (-pair / 64)
    expected = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(128, 128)
    np.testing.assert_allclose(made('sinusoidal').values[0], expected, atol=1e-7)


def test_rope_is_the_formula():
    angle = np.arange(128)[:, None] * 10000.0 ** (-np.arange(64) / 64)
    np.testing.assert_allclose(made('rope').values, [np.cos(angle), np.sin(angle)], atol=1e-7)


def test_alibi_is_the_formula():
    distance = np.arange(64)[:, None] - np.arange(64)
    expected = np.where(distance < 0, -np.inf, -distance * 2.0 ** -np.arange(1, 9)[:, None, None])
    np.testing.assert_allclose(made('alibi').values, expected)


def test_kerple_log_is_the_formula():
    distance = 63 - np.arange(64)
    p = 2.0 * np.arange(1, 9)[:, None] / 8
    np.testing.assert_allclose(made('kerple-log').values[:, 63], -p * np.log1p(distance), rtol=1e-5)


def test_codes_are_bits():
    position = np.arange(64)[:, None]
    np.testing.assert_array_equal(made('binary').values[0], position >> np.arange(6) & 1)
    np.testing.assert_array_equal(made('gray').values[0], (position ^ position >> 1) >> np.arange(6) & 1)


def test_a_window_is_seen_on_either_side():
    seen = np.isfinite(made('nope', mask='full', window=3).values[0])
    np.testing.assert_array_equal(seen, np.abs(np.subtract.outer(np.arange(64), np.arange(64))) < 3)


@pytest.mark.parametrize('name', methods.METHODS)
def test_a_table_is_what_the_method_makes(name, tmp_path):
    path = tmp_path / 'a.npy'
    assert table.main([name, '-o', str(path)]) == 0
    values = np.load(path)
    expected = made(name).values
    assert values.dtype == np.float32 and list(tmp_path.iterdir()) == [path]
    np.testing.assert_array_equal(values, expected if values.ndim == 3 else expected[0])


def test_options_change_the_table(tmp_path):
    path = str(tmp_path / 'a.npy')
    assert table.main(['rope', '--scaling', 'yarn', '--length', '7', '--start', '1000', '-o', path]) == 0
    rope = posenc.Rope(128, scaling={'type': 'yarn', 'factor': 4, 'original_context': 4096, 'context': 16384})
    np.testing.assert_array_equal(np.load(path), rope.table(range(1000, 1007)))


@pytest.mark.parametrize('words, arguments', [
    ("no method 'sine'", ['sine', '-o', 'a.npy']),
    ('required: -o', ['sinusoidal']),
    ('name that ends with .npy', ['sinusoidal', '-o', 'a.png']),
    ('sinusoidal takes no --heads', ['sinusoidal', '--heads', '4', '-o', 'a.npy']),
    ('whole number from 1 to 16777216', ['sinusoidal', '--length', '0', '-o', 'a.npy']),
    ("takes causal, full, not 'half'", ['alibi', '--mask', 'half', '-o', 'a.npy']),
    ('--factor does nothing without --scaling', ['rope', '--factor', '2', '-o', 'a.npy']),
    ('reach beyond position 2147483647', ['sinusoidal', '--start', '2147483647', '-o', 'a.npy']),
    ('add --large', ['sinusoidal', '--length', '16777216', '-o', 'a.npy']),
    ('No such file', ['sinusoidal', '-o', '/nowhere/a.npy']),
    ('dim', ['rope', '--dim', '7', '-o', 'a.npy'])])
def test_wrong_arguments_of_table(words, arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refuses(table.main, words, capsys, *arguments)
    assert not list(tmp_path.iterdir())


# ---- Views ----


def test_similarity_is_toeplitz():
    (row,) = views.similarity(made('sinusoidal'))
    matrix = row.panels[0].values
    np.testing.assert_allclose(np.diag(matrix), 1)
    assert all(np.ptp(np.diag(matrix, k)) < 1e-6 for k in range(100))


def test_the_spectrum_has_each_channel_at_its_wavelength():
    rows = made('sinusoidal', length=1024)
    (row,) = views.spectrum(rows)
    panel = row.panels[0]
    strongest = np.sqrt(panel.heights[1:] * panel.heights[:-1])[panel.values.argmax(axis=0)]
    wavelength = 2 * np.pi * 10000.0 ** (np.arange(64).repeat(2) / 64)
    turns = wavelength < 200
    np.testing.assert_allclose(strongest[turns], wavelength[turns], rtol=0.05)
    np.testing.assert_allclose(panel.values.max(axis=0)[turns], 1, atol=0.3) # between two of the rows it is less


def test_heads_have_their_biases_above_their_weights():
    bias = made('alibi')
    above, below = views.heads(bias, [1, 5])
    assert [panel.title for panel in above.panels] == ['head 1', 'head 5']
    np.testing.assert_array_equal(above.panels[1].values, bias.values[5])
    weights = np.where(np.isfinite(bias.values[5]), np.exp(bias.values[5]), 0)
    seen = np.isfinite(bias.values[5])
    np.testing.assert_allclose(below.panels[1].values[seen], (weights / weights.sum(axis=1, keepdims=True))[seen],
                               rtol=1e-6)
    assert np.all(np.isneginf(below.panels[1].values[~seen]))


def test_a_mask_alone_is_drawn_as_weights():
    (row,) = views.heads(made('nope', window=8))
    assert row.unit == 'weight'


def test_curves_of_a_bias_go_over_the_offset():
    (row,) = views.bias_curves(made('alibi'), [0, 3])
    panel = row.panels[0]
    np.testing.assert_allclose(panel.lines['head 3'], panel.x * 2.0**-4)


def test_colours():
    norm, colours, ticks = panels._colouring(np.array([0.0, 1.0, 1.0]), None)
    assert list(ticks) == [0, 1] and colours.N == 2 and norm(0.0) == 0 and norm(1.0) == 1
    norm, colours, ticks = panels._colouring(np.array([-1.0, 0.3, -np.inf]), None)
    assert (norm.vmin, norm.vmax, colours.name, ticks) == (-1, 1, 'RdBu_r', None)
    norm, colours, ticks = panels._colouring(np.array([0.1, 0.7, -np.inf]), 0.5)
    assert (norm.vmin, norm.vmax, colours.name) == (0, 0.5, 'viridis')
    assert panels._colouring(np.zeros(4), None)[0].vmax == 1


def test_maps_of_a_row_share_their_colours():
    figure = panels.draw('', views.heads(made('alibi'), [0, 7]))
    images = [axes.images[0] for axes in figure.axes if axes.images]
    assert len(images) == 4 and len(figure.axes) == 6 # with two colour bars
    assert images[0].norm is images[1].norm and images[2].norm is images[3].norm is not images[0].norm


# ---- Comparisons ----


def test_linear_scaling_divides_all_frequencies():
    study = studies.STUDIES['scalings']
    (row,) = study.make(type('Options', (), study.defaults))
    lines = row.panels[0].lines
    np.testing.assert_allclose(lines['linear'], 1 / 8)
    np.testing.assert_allclose([lines['yarn'][0], lines['yarn'][-1]], [1, 1 / 8])
    assert lines['ntk'][0] == 1 and lines['ntk'][-1] == pytest.approx(1 / 8)


def test_decay_is_1_at_distance_0_and_falls():
    theta = posenc.Rope(128).theta
    near, far = studies.decay(theta, np.array([0])), studies.decay(theta, np.arange(1000, 1100))
    assert near[0] == pytest.approx(1) and far.max() < 0.4


def test_two_channels_alias_after_710_positions():
    nearest = studies._nearest(2, 10000.0, 800) # 710 is 113 turns and 6e-5 radians
    assert nearest[708] > 1e-3 > nearest[709]


def test_biases_go_on_beyond_the_trained_length():
    study = studies.STUDIES['extrapolation']
    first, second = study.make(type('Options', (), study.defaults))
    learned, _, alibi = first.panels
    t5, clipped, _ = second.panels
    assert not learned.lines['random'][128:].any() and learned.lines['random'][:128].all()
    np.testing.assert_allclose(alibi.lines['head 2'], -np.arange(512) / 8)
    np.testing.assert_allclose(clipped.lines['head 2'], -np.minimum(np.arange(512), 64) / 8)
    assert t5.lines['head 0'][0] == 0 and np.ptp(t5.lines['head 0'][128:]) == 0


# ---- Files ----


@pytest.mark.parametrize('ending, begins', [('.png', PNG), ('.pdf', b'%PDF'), ('.svg', b'<?xml')])
def test_a_picture_is_the_same_file_each_time(ending, begins, tmp_path):
    paths = [tmp_path / f'{name}{ending}' for name in 'ab']
    for path in paths:
        assert command.main(['gray', '-o', str(path)]) == 0
    data = paths[0].read_bytes()
    assert data.startswith(begins) and data == paths[1].read_bytes() and sorted(tmp_path.iterdir()) == paths


def test_nothing_is_left_of_a_file_that_fails(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError('No space left on device')

    monkeypatch.setattr('matplotlib.figure.Figure.savefig', lambda figure, path, **_: (open(path, 'w').close(), fail()))
    monkeypatch.setattr(np, 'save', fail)
    assert command.main(['gray', '-o', str(tmp_path / 'a.png')]) == 2
    assert table.main(['gray', '-o', str(tmp_path / 'a.npy')]) == 2
    assert not list(tmp_path.iterdir())


# ---- Tables from files ----

TRAINED = np.random.default_rng(5).normal(size=(32, 4)).astype(np.float32)
ROUNDED = (TRAINED.view(np.uint32) & 0xffff0000).view(np.float32) # to bf16


def safetensors(path, tensors):
    """A file of {name: (type, shape, bytes)}."""
    header, at = {}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {'dtype': kind, 'shape': shape, 'data_offsets': [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack('<Q', len(text)) + text + b''.join(data for _, _, data in tensors.values()))


def gguf(path, kind, data):
    """A file with one tensor, bias, of 32 rows of 4."""
    head = struct.pack('<4sIQQ', b'GGUF', 3, 1, 0) + struct.pack('<Q4sIQQIQ', 4, b'bias', 2, 4, 32, kind, 0)
    path.write_bytes(head + bytes(-len(head) % 32) + data)


@pytest.fixture
def trained(tmp_path):
    """A folder of the same table in each form, and what is read of each."""
    bf16 = (TRAINED.view(np.uint32) >> 16).astype('<u2').tobytes()
    np.save(tmp_path / 'a.npy', TRAINED)
    safetensors(tmp_path / 'b.safetensors', {'other': ('F32', [3], bytes(12)), 'x.bias': ('BF16', [32, 4], bf16)})
    gguf(tmp_path / 'c.gguf', 1, TRAINED.astype('<f2').tobytes())
    gguf(tmp_path / 'd.gguf', 30, bf16)
    return tmp_path, {'a.npy': TRAINED, 'b.safetensors:x.bias': ROUNDED, 'c.gguf:bias': TRAINED.astype(np.float16).astype(np.float32),
                      'd.gguf': ROUNDED}


def test_a_table_of_a_file_is_drawn(trained):
    folder, forms = trained
    for name, expected in forms.items():
        np.testing.assert_array_equal(made('learned', table=str(folder / name), length=40).values[0, :32], expected)
        bias = made('t5', table=str(folder / name)).values
        assert bias.shape == (4, 64, 64)
        np.testing.assert_array_equal(bias[:, 40, 37], expected[3]) # distance 3: bucket 3
    small = made('resized', table=str(folder / 'a.npy'), length=32).values[0]
    np.testing.assert_allclose(small, TRAINED, atol=1e-6)


@pytest.mark.parametrize('words, name, more', [
    ('name one, as', 'b.safetensors', []), ("no tensor 'y'", 'b.safetensors:y', []), ('of two axes it has x.bias', 'b.safetensors', []),
    ('a table has rows and columns', 'b.safetensors:other', []), ('use FILE.npy', 'a.txt', []), ('No such file', 'none.npy', []),
    ('is no safetensors file', 'broken.safetensors:x', []), ('ends before the end', 'short.gguf', []), ('not read', 'q4.gguf', []),
    ('--heads is what the table', 'a.npy', ['--heads', '4'])])
def test_wrong_tables(words, name, more, trained, capsys, monkeypatch):
    folder, _ = trained
    monkeypatch.chdir(folder)
    (folder / 'broken.safetensors').write_bytes(b'{"x": 1}' * 9)
    gguf(folder / 'short.gguf', 0, bytes(100))
    gguf(folder / 'q4.gguf', 2, bytes(512))
    refuses(command.main, words, capsys, 't5', '--table', name, *more, '-o', 'a.png')
    assert not (folder / 'a.png').exists()


# ---- Animation ----


@pytest.mark.parametrize('ending', ['.gif', '.png'])
def test_an_animation_has_a_frame_for_each_position(ending, tmp_path):
    image = pytest.importorskip('PIL.Image')
    paths = [tmp_path / f'{name}{ending}' for name in 'ab']
    for path in paths:
        assert command.main(['rope', '--view', 'rotation', '--length', '4', '--lines', '0,3', '--dpi', '40', '-o', str(path)]) == 0
    with image.open(paths[0]) as picture:
        frames = [(picture.seek(i), picture.convert('RGB').tobytes())[1] for i in range(picture.n_frames)]
    assert len(frames) == 4 == len(set(frames)) and paths[0].read_bytes() == paths[1].read_bytes()


def test_lines_without_order_have_colours_apart():
    apart = panels.line_colours(['none', 'linear', 'yarn'])
    assert len(set(apart)) == 3 and apart[0] == 'black'
    assert panels.line_colours(['head 0', 'head 7'])[0] == panels.line_colour(0, 2)


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(ValueError, match='.png or .pdf or .svg'):
        panels.save(panels.draw('', views.values(made('gray'))), str(tmp_path / 'a.gif'))


@pytest.mark.parametrize('arguments', [
    ['rope'], ['sinusoidal', '--view', 'curves', '--lines', '0,20'], ['sinusoidal', '--view', 'spectrum'], ['grid', '--view', 'similarity'],
    ['kerple-log', '--view', 'curves'], ['swin'], ['alibi', '--head', '1,3,7'], ['nope', '--window', '8'],
    *[[name] for name in studies.STUDIES]], ids=' '.join)
def test_draws(arguments, tmp_path):
    path = tmp_path / 'a.png'
    assert command.main([*arguments, '--dpi', '40', '-o', str(path)]) == 0
    assert path.read_bytes().startswith(PNG)


def drawn(arguments, monkeypatch):
    """The figure that the command would save."""
    figures = []
    monkeypatch.setattr(command, 'save', lambda figure, path, dpi: figures.append(figure))
    assert command.main([*arguments, '-o', 'a.png']) == 0
    return figures[0]


def test_a_figure_looks_as_asked(monkeypatch):
    plain, asked = (drawn(['alibi', '--head', '0,7', *more], monkeypatch) for more in (
        [], ['--title', 'Slopes', '--cmap', 'cividis', '--size', '7x4', '--font-size', '18', '--own-scale']))
    assert asked._suptitle.get_text().startswith('Slopes') and tuple(asked.get_size_inches()) == (7, 4)
    images = [[image for axes in figure.axes for image in axes.images] for figure in (plain, asked)]
    assert {image.cmap.name for image in images[1]} == {'cividis'}
    limits = [[image.get_clim() for image in of] for of in images]
    assert limits[0][0] == limits[0][1] and limits[1][0] != limits[1][1]
    sizes = [figure.axes[0].title.get_fontsize() for figure in (plain, asked)]
    assert sizes[1] == 2 * sizes[0]


def test_methods_in_one_picture(monkeypatch):
    figure = drawn(['sinusoidal,rope,alibi', '--view', 'similarity', '--length', '40'], monkeypatch)
    titles = [axes.get_title(loc='left') for axes in figure.axes]
    assert 'Sinusoidal encoding' in titles and 'Rotary embedding' in titles
    assert any(title.startswith('ALiBi, head 0') for title in titles)


@pytest.mark.parametrize('words, arguments', [
    ("no colour map 'viridi'; did you mean viridis", ['rope', '--cmap', 'viridi', '-o', 'a.png']),
    ("as 6x4, not '6'", ['rope', '--size', '6', '-o', 'a.png']),
    ("as 6x4, not '0x4'", ['rope', '--size', '0x4', '-o', 'a.png']),
    ("from 4 to 40, not 'big'", ['rope', '--font-size', 'big', '-o', 'a.png']),
    ("no method 'sine'", ['rope,sine', '-o', 'a.png']),
    ("no method 'sine'", ['sine', '-o', 'a.png']),
    ('ends with .png or .pdf or .svg', ['rope', '-o', 'a.gif']),
    ("invalid choice: 'curve'", ['rope', '--view', 'curve', '-o', 'a.png']),
    ('rotation draws rope alone', ['alibi', '--view', 'rotation', '-o', 'a.gif']),
    ('there is no pair 64', ['rope', '--view', 'rotation', '--lines', '64', '-o', 'a.gif']),
    ('ends with .gif or .png', ['rope', '--view', 'rotation', '-o', 'a.pdf']),
    ('at most 512 positions', ['rope', '--view', 'rotation', '--length', '513', '-o', 'a.gif']),
    ('--lines goes with --view curves or rotation', ['rope', '--lines', '1', '-o', 'a.png']),
    ('there is no curve 128', ['rope', '--view', 'curves', '--lines', '128', '-o', 'a.png']),
    ('there is no head 8', ['alibi', '--head', '8', '-o', 'a.png']),
    ('--head is for', ['rope', '--head', '1', '-o', 'a.png']),
    ('this is a bias: use --view curves', ['alibi', '--view', 'spectrum', '-o', 'a.png']),
    ('depends on rows and columns', ['swin', '--view', 'curves', '-o', 'a.png']),
    ('only one position', ['rope', '--length', '1', '--view', 'similarity', '-o', 'a.png']),
    ('more than 1 GiB', ['sinusoidal', '--length', '100000', '--view', 'similarity', '-o', 'a.png']),
    ('scalings is one picture', ['scalings', '--view', 'curves', '-o', 'a.png']),
    ('scalings takes no --heads', ['scalings', '--heads', '2', '-o', 'a.png'])])
def test_wrong_arguments_of_plot(words, arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refuses(command.main, words, capsys, *arguments)
    assert not list(tmp_path.iterdir())


def test_the_tour_is_what_its_script_writes():
    script = pathlib.Path(__file__).parents[2] / 'docs/tour.py'
    done = subprocess.run([sys.executable, script, '--check'], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_help_lists_every_method(capsys):
    for main in (table.main, command.main):
        with pytest.raises(SystemExit):
            main(['--help'])
        shown = capsys.readouterr().out
        assert all(f'  {name} ' in shown for name in methods.METHODS)
    assert set(options.OPTIONS) == {name for method in [*methods.METHODS.values(), *studies.STUDIES.values()]
                                    for name in method.defaults}
