// SPDX-License-Identifier: MIT
// What every bound function shares: statuses as exceptions, words for enumerators, keyword arguments, threads.
#pragma once

#include "tensor.hpp"

#include <algorithm>
#include <initializer_list>
#include <new>
#include <system_error>
#include <thread>

namespace binding {

/** Raises posenc.Error, a ValueError that names function and argument, for anything but POSENC_OK; MemoryError. */
void check(posenc_status status, const char *function, const char *argument = nullptr);

void bind_errors(py::module_ &module);

/** A word of Python for an enumerator of C. */
struct Word {
    const char *text;
    int value;
};

int value_of(const std::string &text, std::initializer_list<Word> words, const char *argument);

template <typename Enum>
Enum enumerator(const std::string &text, std::initializer_list<Word> words, const char *argument) {
    return (Enum)value_of(text, words, argument);
}

/** A TypeError that names the argument. kind: what is expected, in words. */
py::type_error unexpected(py::handle value, const char *argument, const char *kind);

/** Converts a Python value to T, or throws unexpected(). */
template <typename T> T converted(py::handle value, const char *argument, const char *kind) {
    try {
        return value.cast<T>();
    } catch (const py::cast_error &) {
        throw unexpected(value, argument, kind);
    }
}

/** Converts to an integer as above; ValueError for one beyond int64. */
int64_t integer_of(py::handle value, const char *argument);

bool flag_of(py::handle value, const char *argument);

/** The type that the argument dtype names, or otherwise if it is None. It has to be that of `out` if that is given. */
Kind kind_of_result(py::handle dtype, Kind otherwise, py::handle out);

/** The name of a keyword argument, made once. */
struct Key {
    const char *text;
    PyObject *name;
    explicit Key(const char *text_) : text(text_), name(PyUnicode_InternFromString(text_)) {
    }
};

/** Keyword arguments that are taken by name; finish() raises TypeError for arguments that were not taken. */
class Options {
  public:
    Options(const char *function, const py::dict &given) : function_(function), given_(given) {
    }
    /** The argument, or a null handle if it was not given or is None. */
    py::handle take(const Key &key);
    bool flag(const Key &key, bool otherwise);
    double number(const Key &key, double otherwise);
    int64_t integer(const Key &key, int64_t otherwise);
    /** An integer for a field of C that is an int. */
    int32_t integer32(const Key &key, int32_t otherwise);
    std::string word(const Key &key, const char *otherwise);
    void finish() const;

  private:
    const char *function_;
    py::dict given_;
    std::vector<PyObject *> taken_;
};

/** Splits n rows between threads, this one among them, without the GIL. Results do not depend on the split. */
template <typename Call> posenc_status share(int64_t n, int threads, Call call) {
    if (threads < 0)
        refuse("threads", "at least 1 is expected, or 0 for every CPU");
    int64_t most = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
    int64_t n_threads = std::max<int64_t>(1, std::min(n, most));
    py::gil_scoped_release released;
    if (n_threads == 1)
        return call(posenc_range_all());
    std::vector<posenc_status> statuses((size_t)n_threads, POSENC_OK);
    auto do_share = [&](int64_t i) { // an exception would end the program: in a helper, or before helpers are joined
        try {
            statuses[(size_t)i] = call(posenc_range_of_thread(n, i, n_threads));
        } catch (const std::bad_alloc &) {
            statuses[(size_t)i] = POSENC_ERR_MEMORY;
        }
    };
    std::vector<std::thread> helpers;
    helpers.reserve((size_t)n_threads);
    try {
        while ((int64_t)helpers.size() < n_threads - 1)
            helpers.emplace_back(do_share, (int64_t)helpers.size());
    } catch (const std::system_error &) { // there can be no more threads: this one does what is left
    } catch (const std::bad_alloc &) {    // nor is there memory for one
    }
    for (int64_t i = (int64_t)helpers.size(); i < n_threads; i++)
        do_share(i);
    for (std::thread &helper : helpers)
        helper.join();
    for (posenc_status status : statuses) {
        if (status != POSENC_OK)
            return status;
    }
    return POSENC_OK;
}

/** Scratch of a thread, kept from call to call. Never NULL, so that a call that C has no scratch for, for its head_dim
 * say, is refused for that. */
void *scratch_of_thread(size_t bytes);

/** Rows of a tensor: all but the innermost axis. */
inline int64_t row_count(const posenc_view &view) {
    return view.ne[1] * view.ne[2] * view.ne[3];
}

} // namespace binding
