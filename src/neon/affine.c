#include "neon/vec.h"

#include "kernels/affine.inc.h"
