#!/usr/bin/env python3
"""PyTorch, ONNX Runtime or NumPy as a peer, one thread:

    frameworks.py torch|huggingface|onnxruntime|numpy [NAME]

Reads lines of work and prints lines of JSON, as peers in C do (worker.h, work.h). A framework may have several ways to
the same result; the fastest is timed, as somebody would choose it who knows the framework well. Which one it is, "way" says.
huggingface is PyTorch with the rotation as Transformers has it, and nothing else.
"""
import itertools
import json
import statistics
import sys
import time

import arrays
import graphs
import shapes
from shapes import TOLERANCE, Absent

SLICE_SECONDS = 200e-6
LONG_SECONDS = 0.2  # of a call: to it, what is in cache when it begins is nothing
FRAMEWORKS = {'torch': (arrays.Torch, arrays.TORCH_WORKS), 'huggingface': (arrays.Torch, {'rope': arrays.rope}),
              'numpy': (arrays.NumPy, arrays.WORKS), 'onnxruntime': (graphs.OnnxRuntime, graphs.WORKS)}

HOPELESS = 3  # times as long as another way

def time_calls(call, calls):
    start = time.thread_time()
    for _ in range(calls):
        call()
    return (time.thread_time() - start) / calls


def is_right(lib, result, work, wanted):
    """Compares with either order of the result's heads and tokens."""
    result = lib.as_numpy(result).reshape(-1, *wanted.shape[-1:])
    heads, queries, dim = wanted.shape
    bound = TOLERANCE[work['type']] * abs(wanted).max()
    orders = result.reshape(heads, queries, dim), lib.np.swapaxes(result.reshape(queries, heads, dim), 0, 1)
    return any(abs(order - wanted).max() <= bound for order in orders)


def fastest(calls):
    """The name of the fastest, by a trial of all."""
    times = {}
    for name, call in calls.items():
        times[name] = time_calls(call, 1)
        if times[name] < HOPELESS * min(times.values()):
            times[name] = min(times[name], time_calls(call, 1), time_calls(call, 1))
    return min(times, key=times.get)


def attention_calls(lib, work, data, names=None):
    """{way: [a call for each copy of the keys]} of all ways or those named."""
    q, k, v = data
    ways, kept, calls = lib.attention_ways(work, q), {}, {}
    for name in names or ways:
        kind, make = ways[name]
        kept[kind] = kept.get(kind) or shapes.caches(lib, work, kind, k, v)
        calls[name] = [make(*copy) for copy in kept[kind]]
    if not calls:
        raise Absent('has no operation for it')
    return calls


def fastest_way(lib, work):
    """Its name, by a trial of all."""
    work = shapes.trial(work)
    data = shapes.attention_data(lib.np, work)
    wanted = shapes.attention_result(lib.np, work, *data)
    calls = {name: calls[0] for name, calls in attention_calls(lib, work, data).items()}
    for name, call in calls.items():
        if not is_right(lib, call(), work, wanted):
            raise Absent(f'computes something else{name and ": " + name}')
    return fastest(calls)


def attention(lib, work):
    shapes.check_attention(work)
    way = fastest_way(lib, work)
    calls = itertools.cycle(attention_calls(lib, work, shapes.attention_data(lib.np, work), [way])[way])
    return way, lambda: next(calls)()


def other_work(lib, works, work):
    calls = works[work['kind']](lib, work)
    if not isinstance(calls, dict):
        return '', calls
    way = fastest(calls)
    return way, calls[way]


class Job:
    """A line of work, open."""

    def __init__(self, lib, works, work, has_attention=True):
        if work['threads'] > 1:
            raise Absent('is timed with one thread')
        if work['kind'] == 'attention' and has_attention:
            self.way, self.call = attention(lib, work)
        elif work['kind'] in works:
            self.way, self.call = other_work(lib, works, work)
        else:
            raise Absent('has no operation for it')
        self.is_long = time_calls(self.call, 1) > LONG_SECONDS  # with what is set up by the first
        self.calls = 1 if self.is_long else max(1, int(SLICE_SECONDS / max(time_calls(self.call, 1), 1e-7)))

    def measure(self, milliseconds):
        """Nanoseconds of a call; as in worker.c."""
        if not self.is_long:
            time_calls(self.call, self.calls)
        times, end = [], time.thread_time() + 1e-3 * milliseconds
        while not times or time.thread_time() < end:
            times.append(time_calls(self.call, self.calls))
        return 1e9 * statistics.median(times)


def main(framework, name):
    make, works = FRAMEWORKS[framework]
    lib, last, job = make(), None, None
    for line in sys.stdin:
        work = shapes.parse(line)
        answer = {'peer': name, 'work': work['kind'], 'shape': work['shape']}
        try:
            if line != last:
                job, last = None, None  # its memory first
                job, last = Job(lib, works, work, framework != 'huggingface'), line
            ns = job.measure(work['ms'])
            answer.update(ns_per_element=ns / work['elements'], ns_per_call=ns, calls=job.calls)
            if job.way:
                answer['way'] = job.way
        except Absent as reason:
            answer['absent'] = str(reason)
        print(json.dumps(answer), flush=True)


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[-1])
