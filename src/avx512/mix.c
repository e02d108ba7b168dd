#include "avx512/vec.h"

#include "kernels/mix.inc.h"
