#include "neon/vec.h"

#include "kernels/norm.inc.h"
