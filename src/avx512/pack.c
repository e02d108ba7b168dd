#include "avx512/vec.h"

#include "kernels/pack.inc.h"
