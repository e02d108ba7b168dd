#include "avx2/vec.h"

#include "kernels/mix.inc.h"
