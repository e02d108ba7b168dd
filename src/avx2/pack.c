#include "avx2/vec.h"

#include "kernels/pack.inc.h"
