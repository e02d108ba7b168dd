#include "avx512/vec.h"

#include "kernels/affine.inc.h"
