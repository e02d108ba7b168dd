#include "avx512/vec.h"

#include "kernels/rows.inc.h"
