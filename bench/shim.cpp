// SPDX-License-Identifier: MIT
// Google Benchmark behind the C interface of shim.h: the only C++ of the project.
#include "shim.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

benchmark::State &state_of(shim_state *state) {
    return *reinterpret_cast<benchmark::State *>(state);
}

} // namespace

void shim_register(const char *name, shim_function *function, void *context) {
    benchmark::RegisterBenchmark(
        name, [=](benchmark::State &state) { function(reinterpret_cast<shim_state *>(&state), context); });
}

int shim_next(shim_state *state, int64_t calls) {
    return state_of(state).KeepRunningBatch(calls);
}

void shim_pause(shim_state *state) {
    state_of(state).PauseTiming();
}

void shim_resume(shim_state *state) {
    state_of(state).ResumeTiming();
}

void shim_column(shim_state *state, const char *name, double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.3g", value);
    state_of(state).counters[name] = std::strtod(digits, nullptr);
}

void shim_note(const char *key, const char *value) {
    benchmark::AddCustomContext(key, value);
}

int shim_main(int argc, char **argv) {
    // Counters as columns, unless the command line says otherwise: its arguments come later and win.
    char tabular[] = "--benchmark_counters_tabular=true";
    std::vector<char *> args(argv, argv + argc);
    args.insert(args.begin() + 1, tabular);
    argc = static_cast<int>(args.size());
    args.push_back(nullptr);
    benchmark::Initialize(&argc, args.data());
    if (benchmark::ReportUnrecognizedArguments(argc, args.data()))
        return 1;
    bool ran = benchmark::RunSpecifiedBenchmarks() > 0;
    benchmark::Shutdown();
    return ran ? 0 : 1;
}
