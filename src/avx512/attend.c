#include "avx512/vec.h"

#include "kernels/attend.inc.h"
