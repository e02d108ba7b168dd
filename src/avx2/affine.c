#include "avx2/vec.h"

#include "kernels/affine.inc.h"
