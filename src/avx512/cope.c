#include "avx512/vec.h"

#include "kernels/cope.inc.h"
