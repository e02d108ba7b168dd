#include "avx512/vec.h"

#include "kernels/rope.inc.h"
