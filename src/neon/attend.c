#include "neon/vec.h"

#include "kernels/attend.inc.h"
