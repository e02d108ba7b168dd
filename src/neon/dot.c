#include "neon/vec.h"

#include "kernels/dot.inc.h"
