#include "avx512/vec.h"

#include "kernels/weighted.inc.h"
