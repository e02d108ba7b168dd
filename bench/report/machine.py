"""Description of the machine that figures were measured on."""
import contextlib
import datetime
import json
import os
import pathlib
import platform
import shutil
import subprocess


def read(path):
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return ''


def cpu_name():
    for line in read('/proc/cpuinfo').splitlines():
        if line.startswith('model name'):
            return line.split(':', 1)[1].strip()
    return platform.machine()


def cpu_key():
    """The name with its model number, as several generations call themselves the same."""
    numbers = {}
    for line in read('/proc/cpuinfo').splitlines():
        key, _, value = line.partition(':')
        numbers.setdefault(key.strip(), value.strip())
    model = ' '.join(numbers[key] for key in ('cpu family', 'model') if key in numbers)
    return f'{cpu_name()}, family and model {model}' if model else cpu_name()


def caches():
    """{'L1d': bytes, ...} of the first core."""
    found = {}
    for index in sorted(pathlib.Path('/sys/devices/system/cpu/cpu0/cache').glob('index*')):
        kind, size = read(index / 'type'), read(index / 'size')
        if kind != 'Instruction' and size:
            unit = {'K': 1024, 'M': 1024 ** 2}.get(size[-1], 1)
            found['L' + read(index / 'level') + ('d' if kind == 'Data' else '')] = int(size.rstrip('KM')) * unit
    return found


def compiler(build):
    """The first line of what it says of itself."""
    words = json.loads((build / 'compile_commands.json').read_text())[0]['command'].split()
    command = words[1] if words[0].endswith('ccache') else words[0]
    said = subprocess.run([command, '--version'], capture_output=True, text=True).stdout
    return said.splitlines()[0]


def commit(root):
    if shutil.which('git') is None:
        return 'unknown'
    found = subprocess.run(['git', 'describe', '--always', '--dirty'], cwd=root, capture_output=True, text=True)
    return found.stdout.strip() or 'unknown'


def commit_of(revision, root):
    """Its full name, or None if there is none of this name."""
    with contextlib.suppress(OSError):  # without git there are no others
        found = subprocess.run(['git', 'rev-parse', '--verify', '--quiet', f'{revision}^{{commit}}'], cwd=root,
                               capture_output=True, text=True)
        return found.stdout.strip() or None
    return None


def system():
    for line in read('/etc/os-release').splitlines():
        if line.startswith('PRETTY_NAME='):
            return line.split('=', 1)[1].strip('"')
    return platform.system()


def describe(build, root, core):
    virtual = 'hypervisor' in read('/proc/cpuinfo')
    return {'cpu': cpu_name(), 'key': cpu_key(), 'cores': os.cpu_count(), 'virtual': virtual, 'caches': caches(),
            'core': core, 'system': system(), 'kernel': platform.release(), 'compiler': compiler(build),
            'commit': commit(root), 'date': datetime.date.today().isoformat(), 'load_before': os.getloadavg()[0]}


def sentence(machine):
    """One line for the head of a report."""
    where = f"{machine['cpu']}{' (virtual machine)' if machine['virtual'] else ''}, {machine['cores']} cores"
    return f"{where}, {machine['system']}, {machine['compiler']}, commit {machine['commit']}, {machine['date']}"


def load_sentence(machine):
    is_quiet = machine['load_before'] < 0.5
    return (f"The load average was {machine['load_before']:.1f} before the run"
            + ('.' if is_quiet else ': the machine was not quiet, and absolute times are too long.'))
