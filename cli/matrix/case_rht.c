/* SPDX-License-Identifier: Apache-2.0 */
/* What the knobs "by recipe" of rht-quantize mean (RHT 1.4, 2.3): every backend asks here. */
#include "matrix.h"

static bool fused_fast(const struct fp4_case *c)
{
    return c->recipe == CR_TE_FAST && c->knob[KNOB_KERNEL] != FP4_RHT_KERNEL_UNFUSED;
}

bool case_rht_round_trip(const struct fp4_case *c)
{
    if (c->knob[KNOB_TRIP])
        return c->knob[KNOB_TRIP] == 1;
    return !fused_fast(c);
}

bool case_rht_approx_rcp(const struct fp4_case *c)
{
    if (c->knob[KNOB_RCP])
        return c->knob[KNOB_RCP] == 2;
    return fused_fast(c);
}
