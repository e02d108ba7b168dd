"""Changes that are faults: operators, constants, bounds and lane orders changed at random, whatever the source is today; and named
faults, found by pattern (faults.txt)."""
import collections
import hashlib
import re
import subprocess
from typing import NamedTuple

from proof import NEON, ROOT, can_emulate_neon, emulated_tiers, emulation, tier_folders, tiers

SOURCES = [f'src/{folder}/*.[ch]' for folder in ('core', 'rope', 'encoding', 'bias', 'softmax', 'attention', 'analysis', 'simd', 'scalar',
                                                *tier_folders())] + [f'src/kernels/{name}.h' for name in ('exp', 'exp_scalar', 'fma', 'half')]
# This CPU's own bits decide the one, and what is prefetched no result.
NOT_CHANGED = 'src/core/cpu.c', 'src/simd/prefetch.h'
SWAPS = [(' + ', ' - '), (' - ', ' + '), (' * ', ' + '), (' / ', ' * '), (' < ', ' <= '), (' <= ', ' < '), (' > ', ' >= '),
         (' >= ', ' > '), (' == ', ' != '), (' != ', ' == '), (' && ', ' || '), (' || ', ' && '), ('v_add(', 'v_sub('),
         ('v_sub(', 'v_add('), ('v_mul(', 'v_add('), ('v_fma(', 'v_fms('), ('v_fms(', 'v_fma('), ('vd_add(', 'vd_mul('),
         ('vd_mul(', 'vd_add('), ('vd_fms(', 'vd_fma('), ('vi_add(', 'vi_sub('), ('v_max(', 'v_min('), ('_lo', '_hi'), ('_hi', '_lo'),
         ('unpacklo', 'unpackhi'), ('unpackhi', 'unpacklo'), ('cos_', 'sin_'), ('sin_', 'cos_'), ('.begin', '.end'),
         ('.end', '.begin')]
NO_CODE = '#', '//', '_Static_assert', 'static_assert', '__builtin_prefetch', 'fetch_typed(', 'fetch_some('
NUMBER = re.compile(r'(?<![\w.])(0x[0-9a-fA-F]+u?|\d+u?)(?![\w.])')
REAL = re.compile(r'(?<![\w.])(0x[0-9a-f.]+p[-+]?\d+f?|\d+\.\d*(?:e[-+]?\d+)?f?)(?![\w.])')
# Names and arrays of one dimension, before any initialiser: one element more is room that nothing uses.
ARRAYS = re.compile(r'^\s*(?!return )(?:(?:static|const|struct) )*\w+ \**\w+(?:\[\w+\])?(?:, \**\w+(?:\[\w+\])?)*(?=;$| = \{)')


class Change(NamedTuple):
    """A file of the tree with other text in it."""
    file: str
    text: str
    label: str


def code_lines(text):
    """(number, line) of what is code; comments, directives, texts and what is prefetched, which changes no result, are not."""
    is_comment = False
    for number, line in enumerate(text.split('\n')):
        stripped = line.strip()
        if is_comment or stripped.startswith('/*'):
            is_comment = '*/' not in line
            continue
        if stripped and not stripped.startswith(NO_CODE) and '"' not in line:
            yield number, line


def without_room(line, text):
    """The line without the lengths of arrays, unless the size of one of them is taken in this file."""
    arrays = ARRAYS.match(line)
    if arrays and not any(re.search(rf'sizeof \(?{name}\b(?!\[)', text) for name in re.findall(r'(\w+)\[', arrays[0])):
        return ' ' * arrays.end() + line[arrays.end():]
    return line


def mutants_of_line(line, text):
    """Every changed line of a file's text, once."""
    code = line.split('/*')[0]
    for old, new in SWAPS:
        whole = r'(?![a-z])' if old[0] == '_' else ''  # v_load has no low half
        for found in re.finditer(re.escape(old) + whole, code):
            yield code[:found.start()] + new + code[found.end():]
    for found in NUMBER.finditer(without_room(code, text)):
        digits = found[1].rstrip('u')
        yield code[:found.start()] + str(int(digits, 0) + 1) + ('u' if 'u' in found[1] else '') + code[found.end():]
    for found in REAL.finditer(code):
        yield code[:found.start()] + f'({found[1]} * 1.001{"f" if found[1].endswith("f") else ""} + 1e-30f)' + code[found.end():]
    condition = re.match(r'^(\s*(?:\} else )?if )\((.*)\)( \{)?$', code)
    if condition:
        yield f"{condition[1]}(!({condition[2]})){condition[3] or ''}"
    if re.match(r'^\s+[\w\[\].>*+-]+ [-+*|&^]?= .*;$', code) or re.match(r'^\s+\w+\(.*\);$', code):
        yield re.match(r'^\s*', code)[0] + ';'


def tier_of(name):
    """The vector tier whose build judges a mutant of this file, or a change of this label: a named fault may end with its tier."""
    return next((tier for tier in ('avx512', 'neon') if f'/{tier}/' in name or name.endswith(f' {tier}')), 'avx2')


def vector_tiers():
    return [tier for tier in tiers() + emulated_tiers() if tier != 'scalar'] + ['neon'] * can_emulate_neon()


def options_of(tier):
    if tier == 'neon':
        return ['--cross-file', ROOT / f'cross/{NEON}.ini']
    return ['-Dc_args=-mfma -U__AVX__', '-Dc_link_args=-fsanitize=leak', f'-Disa={tier}',
            *(emulation() if tier in emulated_tiers() else [])]


def sources():
    """Every file that this CPU can run, or a build emulate."""
    judged = vector_tiers()
    paths = [path for pattern in SOURCES for path in sorted(ROOT.glob(pattern)) if path.is_file()]
    names = [str(path.relative_to(ROOT)) for path in paths]
    return [name for name in names if tier_of(name) in judged]


def all_mutants(only):
    """(file, line number, line, changed line) of every change that the operators make."""
    found = []
    for name in sources():
        if only in name and name not in NOT_CHANGED:
            text = (ROOT / name).read_text(encoding='utf-8')
            for number, line in code_lines(text):
                found += [(name, number, line, changed) for changed in mutants_of_line(line, text) if changed != line]
    return found


def spelled(mutant):
    """As the kept list has it: FILE: changed line, or FILE: without line."""
    name, _, line, changed = mutant
    return f'{name}: without {line.strip()}' if changed.strip() == ';' else f'{name}: {changed.strip()}'


def change_of(mutant):
    name, number, line, changed = mutant
    lines = (ROOT / name).read_text(encoding='utf-8').split('\n')
    lines[number] = changed
    return Change(name, '\n'.join(lines), f'{name}:{number + 1}: {line.strip()}  =>  {changed.strip()}')


def named_faults(only):
    """(changes, names of faults whose pattern matches nothing any more). A line of faults.txt is NAME | FILES | SED, and the fault is
    injected into the first of these files that sed changes."""
    changes, stale, judged = [], [], vector_tiers()
    for line in (ROOT / 'tests/proof/faults.txt').read_text(encoding='utf-8').splitlines():
        if not line or line.startswith('#') or only not in line:
            continue
        name, files, sed = (part.strip() for part in line.split(' | ', 2))
        for path in (path for pattern in files.split() for path in sorted(ROOT.glob(pattern))):
            before = path.read_text(encoding='utf-8')
            after = subprocess.run(['sed', sed], input=before, capture_output=True, text=True, check=True).stdout
            if after != before:
                file = str(path.relative_to(ROOT))
                changes.append(Change(file, after, f'{file}: {name}'))
                break
        else:
            stale.append(name)
    for change in changes:
        if tier_of(change.label) not in judged:
            print(f'{"skipped":<16} {change.label}  no CPU or emulator', flush=True)
    return [change for change in changes if tier_of(change.label) in judged], stale


def drawn(candidates, seed):
    """In an order that the seed and each mutant's own text give, so that a change elsewhere draws the same mutants again."""
    seen = collections.Counter()

    def lot(mutant):
        name, _, line, changed = mutant
        text = f'{seed}: {name}: {line.strip()} => {changed.strip()}'
        seen[text] += 1
        return hashlib.sha1(f'{text}: {seen[text]}'.encode()).digest()

    return sorted(candidates, key=lot)
