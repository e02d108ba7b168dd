#include "avx2/vec.h"

#include "kernels/rope.inc.h"
