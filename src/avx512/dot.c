#include "avx512/vec.h"

#include "kernels/dot.inc.h"
