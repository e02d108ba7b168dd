#!/usr/bin/env python3
"""Writes docs/tour.md, its pictures and the notebook docs/tour.ipynb: docs/tour.py [--check]

Each scheme below is a few lines of Python, which are run here and make the picture. With --check nothing is written:
the lines are run, and tour.md and tour.ipynb have to be what would be written. The package is looked for as Python does (PYTHONPATH).
"""
import json
import pathlib
import sys
from dataclasses import dataclass

import numpy as np
import posenc
import posenc.plot

DOCS = pathlib.Path(__file__).parent


@dataclass
class Stop:
    title: str
    words: str
    code: str  #: ends with figure = ...


TOUR = {
    'Positions as rows': [
        Stop('Sinusoidal', 'Each channel is a wave over the position, and wavelengths grow by a constant factor.', '''
encoding = posenc.sinusoidal(64, 'interleaved')
E = encoding(range(128))
figure = plot.rows(E, 'Sinusoidal encoding')'''),
        Stop('Wavelengths', 'Each channel has one wavelength. The longest exceed the number of positions.', '''
E = posenc.sinusoidal(128, 'interleaved')(range(1024))
figure = plot.rows(E, 'Sinusoidal encoding: spectrum', view='spectrum')'''),
        Stop('Similarity', 'The dot product of two rows depends on their distance only: a Toeplitz matrix.', '''
E = posenc.sinusoidal(64, 'interleaved')(range(128))
figure = plot.rows(E, 'Sinusoidal encoding: cosine similarity', view='similarity')'''),
        Stop('Learned', 'A table knows nothing of order until it is trained, and ends with its last row. Positions '
             'beyond it\nneed a rule; here they are zero.', '''
table = posenc.fill_normal(np.empty((96, 64), np.float32), seed=1, deviation=0.02)
E = posenc.learned(table, out_of_range='zero')(range(128))
figure = plot.rows(E, 'Learned table of 96 rows')'''),
        Stop('Resized', 'A trained table is interpolated when the image, or the context, grows.', '''
small = posenc.fill_normal(np.empty((12, 32), np.float32), seed=1)
large = posenc.table_resize(small, method='cubic', w_in=12, w_out=96)
figure = plot.rows(large, 'A table of 12 rows, resized to 96')'''),
        Stop('Binary and Gray code', 'Binary digits of the position, the lowest first; in Gray code one bit changes at '
             'each step.', '''
codes = [posenc.bits(6, code)(range(64)) for code in ('binary', 'gray')]
figure = plot.rows(codes, 'Codes', planes=('binary', 'Gray'), column='bit', unit='bit')'''),
        Stop('Fourier features', 'Random frequencies of a coordinate from 0 to 1; sigma is the bandwidth.', '''
where = np.linspace(0, 1, 128, dtype=np.float32)
E = posenc.fourier(32, sigma=2.0, seed=1)(where)
figure = plot.rows(E, 'Random Fourier features')'''),
        Stop('Gaussian basis', 'Bumps, each over a range of positions.', '''
centres = np.linspace(0, 127, 16)
E = posenc.rbf(centres, sigma=8.0)(range(128))
figure = plot.rows(E, 'Gaussian basis', view='curves', lines=range(0, 16, 2), column='bump')'''),
        Stop('Images', 'A token of an image has a row and a column. It is similar to its neighbours in the row, and '
             'to\nthose above and below, one row of tokens away.', '''
rows, columns = np.indices((14, 14), np.int32).reshape(2, -1)
E = posenc.grid(128, 'w_first')(np.stack([rows, columns]))
figure = plot.rows(E, '2D sinusoids: tokens of a 14 by 14 image', view='similarity', row='token')'''),
        Stop('Hybrids', 'Encodings side by side, or added: here the number of a block beside the place in it.', '''
waves = posenc.sinusoidal(32, 'interleaved')
parts = [dict(encoding=waves, divide=16), dict(encoding=waves, modulo=16)]
E = posenc.concat(parts)(range(128))
figure = plot.rows(E, 'Blocks of 16 positions')'''),
    ],
    'Rotations': [
        Stop('RoPE', 'Pairs of channels rotate by the position times their frequency.', '''
rope = posenc.Rope(head_dim=64, base=10000.0)
cos, sin = rope.table(range(128))
figure = plot.rows([cos, sin], 'Rotary embedding', planes=('cosine', 'sine'), column='pair')'''),
        Stop('What attention sees', 'Two rotated vectors meet at an angle that depends on their distance: the same '
             'matrix at any start.', '''
rope, ones = posenc.Rope(head_dim=64), np.ones((64, 1, 64), np.float32)
q = rope(ones, range(1000, 1064))[:, 0]
figure = plot.bias([q @ q.T / 64], 'RoPE: scores of equal vectors', titles=[''], unit='q.k', is_causal=False)'''),
        Stop('Longer contexts', 'YaRN leaves alone the pairs that rotate often, and stretches pairs that completed no '
             'rotation in training.', '''
ropes = {'unscaled': posenc.Rope(128), 'linear': posenc.Rope(128, scaling=dict(type='linear', factor=8)),
         'yarn': posenc.Rope(128, scaling=dict(type='yarn', factor=8, original_context=4096))}
waves = {name: 2 * np.pi / rope.theta for name, rope in ropes.items()}
figure = plot.curves(range(64), waves, 'Wavelengths', x_label='pair', y_label='positions', y_scale='log')'''),
    ],
    'Biases of scores': [
        Stop('ALiBi', 'A penalty that grows with distance, with a slope for each head. Above the bias, below the '
             'weights of equal scores.', '''
slopes = posenc.alibi_slopes(8)
bias = posenc.bias_matrix(64, 64, 8, alibi_slopes=slopes, causal=True)[0]
figure = plot.bias(bias, 'ALiBi', heads=[0, 2, 4, 6])'''),
        Stop('T5', 'A trained number for each bucket of distances; here random ones. Near buckets hold one offset,\n'
             'farther ones more and more.', '''
table = posenc.fill_normal(np.empty((32, 4), np.float32), seed=1)
t5 = posenc.RelBias.t5(table, range(-63, 64), max_distance=64, bidirectional=False)
figure = plot.bias(posenc.bias_matrix(64, 64, 4, bias=t5, causal=True)[0], 'T5')'''),
        Stop('KERPLE', 'Kernels of the distance, with two trained numbers a head.', '''
p = np.arange(1, 9, dtype=np.float32) / 4
kerple = posenc.RelBias.kerple(p, np.ones_like(p), range(-127, 1), kind='log')
bias = posenc.bias_matrix(128, 128, 8, bias=kerple, causal=True)[0]
figure = plot.bias(bias, 'KERPLE, logarithmic', view='curves')'''),
        Stop('Sandwich', 'The dot products of sinusoids, computed from the distance alone.', '''
sandwich = posenc.RelBias.sandwich(8, range(-63, 64), dim=128)
bias = posenc.bias_matrix(64, 64, 8, bias=sandwich, causal=True)[0]
figure = plot.bias(bias, 'Sandwich', heads=[1, 3, 7])'''),
        Stop('Shaw', 'A trained row for each offset, clipped at a distance, is multiplied with the query: the bias depends '
             'on\nboth. Rows and queries are random here.', '''
q = posenc.fill_normal(np.empty((1, 64, 3, 32), np.float32), seed=1)
rows = posenc.fill_normal(np.empty((17, 32), np.float32), seed=2, deviation=0.3)
terms = posenc.RelativeTable(rows).products(q), posenc.RelIndex.clipped(8, range(-63, 64))
bias = posenc.bias_matrix(64, 64, 3, by_query=terms, causal=True)[0]
figure = plot.bias(bias, 'Shaw, clipped at 8')'''),
        Stop('FIRE', 'A small network of the logarithm of the distance, over that of the position; its weights are random '
             'here.', '''
w1, b1, *w2 = posenc.fill_normal(np.empty((5, 32), np.float32), seed=6)
fire = posenc.Fire(w1, b1, np.stack(w2), np.zeros(3, np.float32), max_distance=64)
bias = np.where(np.tri(64), fire(64, 64)[0], -np.inf)
figure = plot.bias(bias, 'FIRE')'''),
        Stop('CoPE', 'Positions are counted by gates, which depend on the scores: what is counted differs by query '
             'and\nhead. Here each count lowers the score.', '''
scores = posenc.fill_normal(np.empty((1, 3, 64, 64), np.float32), seed=1)
z = np.tile(-np.arange(32, dtype=np.float32), (1, 3, 64, 1)) / 4
bias = posenc.cope_logits(scores, z)[0] - scores[0]
figure = plot.bias(bias, 'CoPE')'''),
        Stop('Swin', 'In a window of an image the bias depends on rows and columns between two tokens.', '''
table = posenc.fill_normal(np.empty((13 * 13, 3), np.float32), seed=1)
figure = plot.bias(posenc.swin_bias(table, 7, 7), 'Swin, a window of 7 by 7', is_causal=False)'''),
        Stop('Windows and chunks', 'Masks without a bias: the last keys only, or those of the same chunk.', '''
masks = {'causal': {}, 'window of 8': dict(window=8), 'chunks of 16': dict(chunk=16),
         'window, 4 first keys': dict(window=8, n_first=4)}
bias = [posenc.bias_matrix(32, 32, causal=True, **mask)[0, 0] for mask in masks.values()]
figure = plot.bias(bias, 'Masks', titles=list(masks))'''),
    ],
}

INTRODUCTION = '''# A tour in Python

Each scheme in a few lines, and what it looks like. `docs/tour.py` runs the lines, draws the pictures and writes this
page and [tour.ipynb](tour.ipynb), the same as a Jupyter notebook. [formulas.md](formulas.md) defines the schemes and names their sources; [encodings.md](encodings.md) has the
command line.
All begin with

```python
import numpy as np
import posenc
from posenc import plot
```

and a picture is written by `plot.save(figure, 'name.png')`, or `.pdf`, or `.svg`.
'''


def name_of(stop):
    return f'tour-{stop.title.lower().replace(" ", "-")}.png'


def figure_of(stop):
    """Runs the lines."""
    names = {'np': np, 'posenc': posenc, 'plot': posenc.plot}
    exec(compile(stop.code, stop.title, 'exec'), names) # lines of this file
    return names['figure']


def page():
    parts = [INTRODUCTION]
    for chapter, stops in TOUR.items():
        parts.append(f'## {chapter}\n')
        for stop in stops:
            parts.append(f'### {stop.title}\n\n{stop.words}\n\n```python{stop.code}\n```\n\n'
                         f'![{stop.title}](img/{name_of(stop)})\n')
    return '\n'.join(parts)


def _cell(kind, number, text):
    """Lines of a cell; ids, which the format asks for, count them."""
    lines = text.strip().splitlines(keepends=True)
    more = {'execution_count': None, 'outputs': []} if kind == 'code' else {}
    return {'cell_type': kind, 'id': f'cell-{number}', 'metadata': {}, 'source': lines, **more}


def notebook():
    """The same lines as cells of code, each of which shows its figure. Without outputs: whoever runs it makes them."""
    texts = [('markdown', '# A tour of posenc\n\nMade by docs/tour.py. Needs NumPy, matplotlib and posenc.'),
             ('code', '%matplotlib inline\nimport numpy as np\nimport posenc\nfrom posenc import plot')]
    for chapter, stops in TOUR.items():
        texts.append(('markdown', f'## {chapter}'))
        for stop in stops:
            texts += [('markdown', f'### {stop.title}\n\n{stop.words}'), ('code', f'{stop.code}\nfigure')]
    kernel = {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}
    return json.dumps({'cells': [_cell(kind, number, text) for number, (kind, text) in enumerate(texts)],
                       'metadata': {'kernelspec': kernel, 'language_info': {'name': 'python'}}, 'nbformat': 4, 'nbformat_minor': 5},
                      indent=1, ensure_ascii=False) + '\n'


def main(arguments):
    is_check = arguments == ['--check']
    for stop in (stop for stops in TOUR.values() for stop in stops):
        figure = figure_of(stop)
        if not is_check:
            posenc.plot.save(figure, str(DOCS / 'img' / name_of(stop)), dpi=80)
    for name, text in (('tour.md', page()), ('tour.ipynb', notebook())):
        if not is_check:
            (DOCS / name).write_text(text)
        elif (DOCS / name).read_text() != text:
            return f'{name} is not what docs/tour.py writes'
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
