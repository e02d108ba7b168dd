#include "neon/vec.h"

#include "kernels/angles.inc.h"
