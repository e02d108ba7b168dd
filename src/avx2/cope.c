#include "avx2/vec.h"

#include "kernels/cope.inc.h"
