#include "neon/vec.h"

#include "kernels/cope.inc.h"
