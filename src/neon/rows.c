#include "neon/vec.h"

#include "kernels/rows.inc.h"
