// SPDX-License-Identifier: MIT
// An absolute encoding as an object of Python.
#pragma once

#include "call.hpp"

#include <memory>

namespace binding {

class Encoding {
  public:
    /** keeps: what the encoding refers to, tables and encodings with tables */
    Encoding(posenc_encoding *encoding, py::object keeps) : encoding_(encoding), keeps_(std::move(keeps)) {
    }
    const posenc_encoding *get() const {
        return encoding_.get();
    }
    py::object apply(py::handle positions, py::handle x, py::handle gate, py::handle out, bool in_place,
                     py::handle dtype, int threads) const;

  private:
    struct Free {
        void operator()(posenc_encoding *encoding) const {
            posenc_encoding_free(encoding);
        }
    };
    std::unique_ptr<posenc_encoding, Free> encoding_;
    py::object keeps_;
};

/** Calls a posenc_..._create and makes an object of what it made. */
template <typename Create>
std::unique_ptr<Encoding> make_encoding(const char *function, Create create, py::object keeps = py::none()) {
    posenc_encoding *encoding = nullptr;
    check(create(&encoding), function);
    return std::make_unique<Encoding>(encoding, std::move(keeps));
}

} // namespace binding
