/* SPDX-License-Identifier: Apache-2.0 */
/* search.h: the cause of the differing cases of one op; private to diagnose.c. */
#ifndef FP4_SEARCH_H
#define FP4_SEARCH_H

#include "evidence.h"

/* Looks at the cases that are not settled yet: fills a finding about some of them (or, with depth 0, about all), settles those, and
 * returns true; false when none is left. cases: the differing ones, then equal ones as counter-evidence. last: settles all that are left as
 * having no known cause. */
bool search_next(struct evidence **cases, size_t differing, size_t equal, bool last, struct diagnosis_finding *out);

#endif
