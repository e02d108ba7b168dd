#include "neon/vec.h"

#include "kernels/convert.inc.h"
