#include "neon/vec.h"

#include "kernels/axes.inc.h"
