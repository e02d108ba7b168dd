#include "avx2/vec.h"

#include "kernels/attend.inc.h"
