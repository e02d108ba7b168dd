// SPDX-License-Identifier: MIT
// Signatures of functions and methods by their names, as python/signatures.py writes them; the last has no name.
#pragma once

namespace binding {

struct Signature {
    const char *name, *text;
};

extern const Signature signatures[];

} // namespace binding
